/** Ends the container of a server that is started by `docker run`: the signals of its process group do not reach it. */
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";

/** What is started. */
interface Command {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
}

const PROGRAMS: ReadonlySet<string> = new Set(["docker", "podman", "nerdctl"]);
/** The engine has this long (ms) to kill a container. */
const KILL_MS = 5_000;

/** A container that may outlive the program that started it, because it ignores the end of its input and SIGTERM. */
export class Container {
  /** Those of the command, and the file in which the engine writes the id. */
  readonly args: readonly string[];
  /** What was to be started. */
  readonly command: Command;
  readonly #idFile: string;
  /** Undefined if the config names the file. */
  readonly #folder: string | undefined;
  #id: string | undefined;

  /** Undefined for a command that starts none. @throws the error of the system if there is no temporary folder */
  static async of(command: Command): Promise<Container | undefined> {
    const program = basename(command.command.replaceAll("\\", "/")).replace(/\.exe$/i, "");
    const { args } = command;
    const at = args[0] === "container" ? 1 : 0;
    if (!PROGRAMS.has(program) || args[at] !== "run") return undefined;
    const own = cidFileIn(args);
    if (own !== undefined) return new Container(command, args, resolve(command.cwd, own), undefined);
    const folder = await mkdtemp(join(tmpdir(), "cardea-container-"));
    const idFile = join(folder, "id");
    const all = [...args.slice(0, at + 1), "--cidfile", idFile, ...args.slice(at + 1)];
    return new Container(command, all, idFile, folder);
  }

  private constructor(command: Command, args: readonly string[], idFile: string, folder: string | undefined) {
    this.command = command;
    this.args = args;
    this.#idFile = idFile;
    this.#folder = folder;
  }

  /** Reads the id, which the engine has written once the container runs. Never rejects. */
  async learnId(): Promise<void> {
    const text = await readFile(this.#idFile, "utf8").catch(() => "");
    const id = text.trim();
    if (/^[\w.][\w.-]{0,127}$/.test(id)) this.#id = id;
  }

  /** Kills it, if it runs. Never rejects: a container that has ended is none to kill. */
  async kill(): Promise<void> {
    await this.learnId();
    const { killArgs } = this;
    if (killArgs === undefined) return;
    const { command, env, cwd } = this.command;
    await new Promise<void>((done) => {
      execFile(command, [...killArgs], { env, cwd, timeout: KILL_MS, windowsHide: true }, () => done());
    });
  }

  /** The arguments that kill it; undefined while its id is not known. */
  get killArgs(): readonly string[] | undefined {
    return this.#id === undefined ? undefined : ["kill", this.#id];
  }

  /** Removes the file with the id. Never rejects. */
  async forget(): Promise<void> {
    // What cannot be removed is an empty folder of a few bytes.
    if (this.#folder !== undefined) await rm(this.#folder, { recursive: true, force: true }).catch(() => {});
  }
}

/** The value of `--cidfile`, which can be given once. */
function cidFileIn(args: readonly string[]): string | undefined {
  const at = args.indexOf("--cidfile");
  if (at !== -1) return args[at + 1];
  return args.find((arg) => arg.startsWith("--cidfile="))?.slice("--cidfile=".length);
}
