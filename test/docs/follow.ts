/**
 * Follows a page of the documentation word by word, as a stranger would: files are written, commands are run with the
 * built program, and what the page shows must be printed.
 *
 * | fence | what happens |
 * |---|---|
 * | `jsonc [NAME]` | the text is written into NAME |
 * | `sh` | each line is run by bash and must end with 0; one that ends in `&` runs until the page ends |
 * | `text` after `sh` | each line, with `…` for anything, must be in what the commands printed, in this order |
 */
import { spawn } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inRepository, MAIN } from "../support/cardea.js";

/** One fence of a page. */
interface Fence {
  readonly language: string;
  readonly name: string | undefined;
  readonly text: string;
}

/** The fences of a page, in order. */
export function fencesOf(path: string): readonly Fence[] {
  const page = readFileSync(inRepository(path), "utf8");
  return [...page.matchAll(/^```(\w*)(?: \[(.+?)\])?\n(.*?)^```$/gms)].map(
    ([, language = "", name, text = ""]) => ({
      language,
      name,
      text,
    }),
  );
}

/** What stands for the programs that a page calls: this build, and the packages that are installed here. */
const PROGRAMS: Readonly<Record<string, string>> = {
  cardea: `exec "${process.execPath}" "${MAIN}" "$@"`,
  // `npx -y PACKAGE@VERSION ARGS`, and `npx cardea`.
  npx: [
    '[ "$1" = -y ] && shift',
    'name="$1"; shift',
    'name="$' + '{name%@[0-9]*}"',
    `case "$name" in cardea) exec cardea "$@";; esac`,
    `file="${inRepository("node_modules")}/$name/dist/index.js"`,
    '[ -f "$file" ] || { echo "npx: $name is not installed for tests" >&2; exit 1; }',
    `exec "${process.execPath}" "$file" "$@"`,
  ].join("\n"),
};

/**
 * Follows the page.
 *
 * @param ports stand for 8080 and 8081, which may be taken on this machine
 * @throws Error that names the line which did not do what the page says
 */
export async function follow(path: string, ports: readonly [http: number, admin: number]): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "cardea-docs-"));
  const bin = join(folder, ".bin");
  mkdirSync(bin);
  for (const [name, script] of Object.entries(PROGRAMS)) {
    writeFileSync(join(bin, name), `#!/bin/bash\n${script}\n`);
    chmodSync(join(bin, name), 0o755);
  }
  const shell = new Shell(folder, {
    CARDEA_ADMIN_PORT: String(ports[1]),
    HOME: folder,
    PATH: `${bin}:${process.env.PATH}`,
    XDG_CONFIG_HOME: join(folder, ".config"),
    XDG_STATE_HOME: join(folder, ".state"),
  });
  try {
    let printed = "";
    for (const { language, name, text } of fencesOf(path)) {
      if (name !== undefined) writeFileSync(join(folder, name), text);
      else if (language === "sh")
        printed = await shell.run(
          text.replaceAll("8080", String(ports[0])).replaceAll("8081", String(ports[1])),
        );
      else if (language === "text") checkPrinted(printed, text);
    }
  } finally {
    await shell.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

function checkPrinted(printed: string, shown: string): void {
  let at = 0;
  for (const line of shown.trimEnd().split("\n")) {
    const pattern = line
      .split("…")
      .map((part) => part.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&"))
      .join(".*");
    const found = new RegExp(`^.*${pattern}`, "m").exec(printed.slice(at));
    if (found === null) throw new Error(`the page shows "${line}", and this was printed:\n${printed}`);
    at += found.index + found[0].length;
  }
}

/** One bash for a page, so that variables and background commands live as long as it. */
class Shell {
  readonly #process;
  #output = "";
  #onOutput = (): void => {};
  #ended: number | undefined;
  #commands = 0;

  constructor(cwd: string, env: Readonly<Record<string, string>>) {
    // A process group of its own, so that background commands end with it.
    this.#process = spawn("bash", ["--noprofile", "--norc"], { cwd, env, detached: true });
    const take = (chunk: Buffer): void => {
      this.#output += String(chunk);
      this.#onOutput();
    };
    this.#process.stdout.on("data", take);
    this.#process.stderr.on("data", take);
    this.#process.on("exit", (code) => {
      this.#ended = code ?? 1;
      this.#onOutput();
    });
  }

  /** Runs the lines one after the other; resolves to what they printed. */
  async run(text: string): Promise<string> {
    const from = this.#output.length;
    for (const line of text.trimEnd().split("\n")) await this.#runLine(line);
    return this.#output.slice(from);
  }

  async #runLine(line: string): Promise<void> {
    const from = this.#output.length;
    const isBackground = line.trimEnd().endsWith("&");
    const marker = `=== ${++this.#commands} ended with `;
    this.#process.stdin.write(`${line}\necho "${marker}$?"\n`);
    const output = (): string => this.#output.slice(from);
    await this.#until(() => output().includes(marker));
    const code = output().split(marker)[1]?.split("\n")[0];
    if (code !== "0") throw new Error(`${line}\nended with ${code}:\n${output()}`);
    // The program prints one line when it serves.
    if (isBackground) await this.#until(() => /http:\/\/127\.0\.0\.1:\d+/.test(output()));
  }

  #until(isDone: () => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#onOutput = () => {
        if (isDone()) resolve();
        else if (this.#ended !== undefined) reject(new Error(`the shell ended:\n${this.#output}`));
      };
      this.#onOutput();
    });
  }

  async stop(): Promise<void> {
    if (this.#ended !== undefined) return;
    const ended = new Promise((resolve) => this.#process.once("exit", resolve));
    this.#process.stdin.end("kill $(jobs -p) 2>/dev/null; wait; exit\n");
    await ended;
  }
}
