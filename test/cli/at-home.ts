/** A command with a home folder and a working folder of its own, so that it touches nothing else. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach } from "vitest";
import { runCommandLine } from "../../src/cli/program.js";
import { type FakeShellOptions, fakeShell } from "./fake-shell.js";

interface Ran {
  readonly code: number;
  readonly out: string;
  readonly said: readonly string[];
  readonly waits: readonly number[];
  /** The servers that a gateway was made of. */
  readonly started: readonly string[];
}

export interface AtHome {
  /** The folder that commands run in. */
  readonly work: string;
  /** The folder that HOME names. */
  readonly home: string;
  /** Runs a command in the working folder; the paths in its output are without the temporary folder. */
  run(...argv: readonly string[]): Promise<Ran>;
  write(file: string, text: string | object): void;
  read(file: string): string;
  has(file: string): boolean;
  /** The permission bits. */
  mode(file: string): number;
}

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

/** As `atHome`, with what is typed at a terminal. */
export const atTerminal = (typed: readonly string[], more: Readonly<Record<string, string>> = {}): AtHome =>
  atHome(more, { typed });

/** Files are named relative to a temporary folder with `home/` and `work/` in it. */
export function atHome(
  more: Readonly<Record<string, string>> = {},
  options: Pick<FakeShellOptions, "typed" | "gateway" | "examine"> = {},
): AtHome {
  const folder = mkdtempSync(join(tmpdir(), "cardea-home-"));
  folders.push(folder);
  const home = join(folder, "home");
  const cwd = join(folder, "work");
  for (const each of [home, cwd]) mkdirSync(each);
  return {
    home,
    work: cwd,
    run: async (...argv) => {
      const shell = fakeShell({
        // No test of a command asks a registry for versions.
        env: { HOME: home, CARDEA_UNPINNED: "1", ...more },
        cwd,
        ...options,
      });
      const code = await runCommandLine(argv, shell);
      const plain = (text: string): string => text.replaceAll(`${folder}/`, "/");
      return {
        ...{ code, out: plain(shell.out()), said: shell.said.map(plain), waits: shell.waits },
        started: shell.configs.flatMap(({ servers }) => servers.map(({ name }) => name)),
      };
    },
    write: (file, text) => {
      mkdirSync(dirname(join(folder, file)), { recursive: true });
      writeFileSync(join(folder, file), typeof text === "string" ? text : JSON.stringify(text, null, 2));
    },
    read: (file) => readFileSync(join(folder, file), "utf8"),
    has: (file) => existsSync(join(folder, file)),
    mode: (file) => statSync(join(folder, file)).mode & 0o7777,
  };
}
