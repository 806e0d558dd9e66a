/** How is a server process spawned, recorded, and ended together with its descendants? As a process group. */
import { type ChildProcess, execFile, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import type { Readable, Writable } from "node:stream";
import spawn from "cross-spawn";
import { withTimeout } from "../../core/stop.js";
import { Container } from "./container.js";
import { signalMembers } from "./group-members.js";

/** What to spawn. */
interface Command {
  readonly command: string;
  readonly args: readonly string[];
  /** The whole environment; see `childEnvironment`. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** How long it may take to exit after stdin is closed, and again after SIGTERM, in ms. Default: 2,000. */
  readonly graceMs?: number;
  /** As `ProcessStart.isMonitored`. Default: no. */
  readonly isMonitored?: boolean;
}

/** How a process exited. */
export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

const GRACE_MS = 2_000;
/** How long descendants may take to exit after SIGTERM, in ms. */
const DESCENDANT_GRACE_MS = 500;
/** How long output is read after the exit, while a descendant holds the pipe open; in ms. */
const OUTPUT_GRACE_MS = 250;

/** The running processes of one gateway. */
export class ProcessGroups {
  readonly #registry: ProcessRegistry | undefined;
  readonly #groups = new Map<number, ProcessGroup>();

  /** @param registry where they are recorded; default: nowhere */
  constructor(registry?: ProcessRegistry) {
    this.#registry = registry;
  }

  /**
   * Starts `command` for `server`, without a shell.
   *
   * @throws Error whose message says why it cannot be started
   */
  async start(command: Command, server: string): Promise<ProcessGroup> {
    const container = await Container.of(command);
    const child = spawn(command.command, [...(container?.args ?? command.args)], {
      cwd: command.cwd,
      env: command.env,
      shell: false,
      stdio: ["pipe", "pipe", "pipe"],
      // Its own process group: children of npx or a shell end with it, and Ctrl-C reaches the gateway only.
      detached: !onWindows,
      windowsHide: true,
    });
    await new Promise<void>((resolve, reject) => {
      child.once("spawn", resolve);
      child.once("error", (cause: NodeJS.ErrnoException) => {
        container?.forget().catch(() => {});
        reject(new Error(spawnErrorMessage(command, cause), { cause }));
      });
    });
    const { graceMs = GRACE_MS, isMonitored = false } = command;
    const options = { graceMs, container, isMonitored };
    const group = new ProcessGroup(child, options, (pid) => this.#remove(pid));
    if (this.#groups.size === 0) process.on("exit", this.#killAll);
    this.#groups.set(group.pid, group);
    const forget = this.#registry?.register(group.pid, server, command.command);
    if (forget !== undefined) group.unregistered = group.exited.then(forget);
    return group;
  }

  #remove(pid: number): void {
    this.#groups.delete(pid);
    if (this.#groups.size === 0) process.off("exit", this.#killAll);
  }

  /**
   * Runs in the gateway's `exit` event, whose listeners cannot wait. A killed gateway closes the stdin of its servers,
   * which ends most of them; this is for those that ignore it.
   */
  readonly #killAll = (): void => {
    for (const [pid, { container }] of this.#groups) {
      killContainerNow(container);
      if (onWindows) spawnSync("taskkill", taskkill(pid), { windowsHide: true });
      else signalGroup(pid, "SIGKILL");
    }
  };
}

interface GroupOptions {
  readonly graceMs: number;
  readonly container?: Container | undefined;
  readonly isMonitored: boolean;
}

/** A running process and its descendants. */
export class ProcessGroup {
  readonly pid: number;
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Resolves when the process has exited and its output has been read. */
  readonly exited: Promise<Exit>;
  /** Resolves when the record of the process is removed. */
  unregistered: Promise<void> = Promise.resolve();
  readonly #child: ChildProcess;
  readonly #gone: Promise<void>;
  readonly #graceMs: number;
  readonly #isMonitored: boolean;
  /** Undefined unless the process has started one. */
  readonly container: Container | undefined;
  #ending: Promise<void> | undefined;

  /** @param onGone called when the process and its descendants have exited */
  constructor(
    child: ChildProcess,
    { graceMs, container, isMonitored }: GroupOptions,
    onGone: (pid: number) => void,
  ) {
    const { pid, stdin, stdout, stderr } = child;
    if (pid === undefined || stdin === null || stdout === null || stderr === null) {
      throw new Error("a spawned process must have an id and three pipes");
    }
    this.#child = child;
    this.#graceMs = graceMs;
    this.#isMonitored = isMonitored;
    this.container = container;
    // A container that writes runs, and its id is known then, for an exit that cannot wait.
    stdout.once("data", () => {
      container?.learnId().catch(() => {});
    });
    this.pid = pid;
    this.stdin = stdin;
    this.stdout = stdout;
    this.stderr = stderr;
    // A write error (EPIPE) is reported by the exit; without a listener it would end the gateway.
    for (const pipe of [stdin, stdout, stderr]) pipe.on("error", () => {});
    child.on("error", () => {});
    const exit = new Promise<Exit>((resolve) => {
      child.once("exit", (code, signal) => resolve({ code, signal }));
    });
    const closed = new Promise<void>((resolve) => child.once("close", () => resolve()));
    this.#gone = exit
      .then(() => this.#endDescendants())
      .then(() => {
        onGone(pid);
        return container?.forget();
      });
    this.exited = exit.then(async (how) => {
      await withTimeout(OUTPUT_GRACE_MS, closed);
      return how;
    });
  }

  /**
   * Closes stdin, waits, sends SIGTERM to the group, waits, sends SIGKILL. Resolves when the process has exited and its
   * descendants were signalled. Idempotent.
   */
  end(): Promise<void> {
    this.#ending ??= this.#end();
    return this.#ending;
  }

  /** Sends SIGKILL to the group, and to its container. */
  kill(): void {
    if (this.container === undefined) signalGroup(this.pid, "SIGKILL");
    else
      this.container
        .kill()
        .finally(() => signalGroup(this.pid, "SIGKILL"))
        .catch(() => {});
  }

  async #end(): Promise<void> {
    this.stdin.end();
    for (const signal of ["SIGTERM", "SIGKILL"] as const) {
      const gone = this.#gone.then(() => true);
      if (await withTimeout(this.#graceMs, gone)) return;
      // The program that started a container ends with it; killed, it would leave it behind.
      if (signal === "SIGKILL") await this.container?.kill();
      if (this.#child.exitCode !== null || this.#child.signalCode !== null) continue;
      if (signal === "SIGTERM" && this.#isMonitored && (await signalMembers(this.pid, signal))) continue;
      signalGroup(this.pid, signal);
    }
    await this.#gone;
  }

  async #endDescendants(): Promise<void> {
    if (onWindows || !signalGroup(this.pid, "SIGTERM")) return;
    // Where pid 1 does not reap, a zombie stays a member of the group; so the wait is bounded.
    const end = performance.now() + DESCENDANT_GRACE_MS;
    while (performance.now() < end) {
      await new Promise((resolve) => setTimeout(resolve, 20));
      if (!signalGroup(this.pid, 0)) return;
    }
    signalGroup(this.pid, "SIGKILL");
  }
}

/** How long (ms) the exit of the gateway waits for an engine. */
const ENGINE_MS = 2_000;

function killContainerNow(container: Container | undefined): void {
  const args = container?.killArgs;
  if (container === undefined || args === undefined) return;
  const { command, env, cwd } = container.command;
  spawnSync(command, [...args], { env, cwd, timeout: ENGINE_MS, stdio: "ignore", windowsHide: true });
}

const onWindows = process.platform === "win32";

const taskkill = (pid: number): string[] => ["/pid", String(pid), "/T", "/F"];

/** False when no process received the signal. */
function signalGroup(pid: number, signal: NodeJS.Signals | 0): boolean {
  // Windows has no process groups or signals: taskkill ends the whole tree.
  if (onWindows && signal !== 0) {
    execFile("taskkill", taskkill(pid), { windowsHide: true }, () => {}).once("error", () => {});
    return true;
  }
  try {
    return process.kill(onWindows ? pid : -pid, signal);
  } catch {
    return false;
  }
}

function spawnErrorMessage({ command, cwd }: Command, error: NodeJS.ErrnoException): string {
  if (!existsSync(cwd)) return `the working directory does not exist: ${cwd}`;
  const code: string = error.code ?? "";
  switch (code) {
    case "ENOENT":
      return `command not found: ${command}`;
    case "EACCES":
      return `not allowed to run: ${command}`;
    case "E2BIG":
      return `the arguments are too long for: ${command}`;
    case "EAGAIN":
    case "EMFILE":
    case "ENFILE":
    case "ENOMEM":
      return `the system is out of processes, files or memory (${code}) and could not run: ${command}`;
    default:
      return `could not run ${command} (${code || error.message})`;
  }
}

const POSIX = new Set(["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TERM", "TMPDIR", "TZ"]);

const WINDOWS = new Set([
  "PATH",
  "PATHEXT",
  "APPDATA",
  "LOCALAPPDATA",
  "PROGRAMDATA",
  "PROGRAMFILES",
  "PROGRAMFILES(X86)",
  "HOMEDRIVE",
  "HOMEPATH",
  "USERNAME",
  "USERPROFILE",
  "SYSTEMDRIVE",
  "SYSTEMROOT",
  "WINDIR",
  "COMSPEC",
  "PROCESSOR_ARCHITECTURE",
  "TEMP",
  "TMP",
]);

type Environment = { readonly [name: string]: string | undefined };

/** The allowed variables of `inherited`, overridden by `own`. Names are case-insensitive on Windows. */
export function childEnvironment(
  own: Readonly<Record<string, string>>,
  inherited: Environment = process.env,
  platform: NodeJS.Platform = process.platform,
): Record<string, string> {
  const environment: Record<string, string> = {};
  for (const [name, value] of Object.entries(inherited)) {
    // A value that begins with "()" is a function exported by an old bash, which another bash would run (Shellshock).
    if (value !== undefined && !value.startsWith("()") && mayInherit(name, platform))
      environment[name] = value;
  }
  for (const [name, value] of Object.entries(own)) {
    if (platform === "win32") {
      for (const twin of Object.keys(environment)) {
        if (twin.toUpperCase() === name.toUpperCase()) delete environment[twin];
      }
    }
    environment[name] = value;
  }
  return environment;
}

function mayInherit(name: string, platform: NodeJS.Platform): boolean {
  return platform === "win32" ? WINDOWS.has(name.toUpperCase()) : POSIX.has(name) || name.startsWith("LC_");
}

/** Records the server processes of all gateways. */
export interface ProcessRegistry {
  /**
   * Records that `pid` was started for `server`; the returned function removes the record after the exit. Neither throws;
   * the promise of the function resolves when the record is removed, and never rejects.
   */
  register(pid: number, server: string, command: string): () => Promise<void>;
  /** The orphans that run now. Never rejects. */
  orphans(): Promise<readonly Orphan[]>;
}

/** A process that still runs although the gateway that started it does not. */
export interface Orphan {
  readonly pid: number;
  readonly server: string;
  readonly command: string;
}
