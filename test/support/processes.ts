/** Child processes of tests: started with their output kept, looked for, and ended with the test. */
import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { withFreshState } from "./fresh-state.js";
import { until } from "./until.js";

type Signal = "SIGTERM" | "SIGINT" | "SIGHUP" | "SIGKILL";

export interface Exit {
  readonly code: number | null;
  readonly signal: string | null;
}

export interface Started {
  readonly pid: number;
  readonly child: ChildProcessWithoutNullStreams;
  /** What it has written to stderr so far. */
  stderr(): string;
  /** The first match of `pattern` in the whole lines of its stderr, as soon as it is there. */
  says(pattern: RegExp, limitMs?: number): Promise<RegExpExecArray>;
  readonly exited: Promise<Exit>;
  /** Sends `signal` and waits until it is gone; SIGKILL after `limitMs`. */
  stop(signal?: Signal, limitMs?: number): Promise<Exit>;
  /** Ends a gateway whose stop is not the subject: with the second signal it neither drains nor waits for balancers. */
  end(): Promise<Exit>;
}

export interface StartOptions {
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly cwd?: string;
}

export function start(command: string, args: readonly string[], options: StartOptions = {}): Started {
  const env = withFreshState(options.env ?? process.env);
  const child = spawn(command, [...args], { ...options, env, stdio: "pipe" });
  let stderr = "";
  let gone: Exit | undefined;
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  const exited = new Promise<Exit>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code, signal) => {
      gone = { code, signal };
      resolve(gone);
    });
  });
  const stop = async (signal: Signal = "SIGTERM", limitMs = 60_000): Promise<Exit> => {
    child.kill(signal);
    const kill = setTimeout(() => child.kill("SIGKILL"), limitMs);
    return exited.finally(() => clearTimeout(kill));
  };
  const end = (): Promise<Exit> => {
    const ended = stop("SIGTERM");
    child.kill("SIGINT");
    return ended;
  };
  const says = (pattern: RegExp, limitMs = 60_000): Promise<RegExpExecArray> =>
    until(
      `${pattern} on stderr of ${command} ${args.join(" ")}`,
      () => {
        // A line may come in pieces, and the beginning of a number is a number.
        const match = pattern.exec(stderr.slice(0, stderr.lastIndexOf("\n") + 1));
        if (match === null && gone !== undefined) {
          throw new Error(`${command} ended (${gone.code ?? gone.signal}) and said:\n${stderr}`);
        }
        return match ?? undefined;
      },
      limitMs,
    );
  return { pid: child.pid ?? -1, child, stderr: () => stderr, says, exited, stop, end };
}

/** The ids of all processes below `pid`, at whatever depth. */
export function descendantsOf(pid: number): readonly number[] {
  const parents = parentOfEach();
  const below = (ancestor: number): number[] =>
    [...parents].flatMap(([child, parent]) => (parent === ancestor ? [child, ...below(child)] : []));
  return below(pid);
}

/** Whether the process exists and is not a zombie. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  const stat = `/proc/${pid}/stat`;
  return !existsSync(stat) || stateOf(stat) !== "Z";
}

function parentOfEach(): ReadonlyMap<number, number> {
  if (existsSync("/proc/self/stat")) {
    const entries = readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name))
      .map((name) => [Number(name), Number(fields(`/proc/${name}/stat`)[1] ?? -1)] as const);
    return new Map(entries);
  }
  const lines = spawnSync("ps", ["-A", "-o", "pid=,ppid="], { encoding: "utf8" }).stdout.trim().split("\n");
  return new Map(lines.map((line) => line.trim().split(/\s+/).map(Number) as [number, number]));
}

/** What stands after the program's name in a stat file: state, parent, and so on. */
function fields(file: string): readonly string[] {
  try {
    const text = readFileSync(file, "utf8");
    return text.slice(text.lastIndexOf(")") + 2).split(" ");
  } catch {
    // It ended while we were looking.
    return [];
  }
}

const stateOf = (file: string): string | undefined => fields(file)[0] ?? "Z";
