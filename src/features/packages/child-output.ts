/** What does a program such as npm answer, within a time and a size? */
import { execFile } from "node:child_process";
import { childEnvironment } from "../../upstream/transport/process-group.js";

/** Where a program runs. */
export interface ChildPlace {
  /** Added to the variables that processes inherit. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** Ends it. */
  readonly signal?: AbortSignal | undefined;
  /** How long it may take, in ms. Default: 20 s. */
  readonly timeoutMs?: number;
}

/** Its output; `isMissing` where there is no such program. */
export interface ChildOutput {
  readonly ok: boolean;
  readonly isMissing: boolean;
  readonly stdout: string;
  readonly stderr: string;
}

const TIMEOUT_MS = 20_000;
const MAX_BYTES = 33_554_432;

/** Never rejects. `input`: what it reads. */
export const outputOf = (
  command: string,
  args: readonly string[],
  { env, cwd, signal, timeoutMs = TIMEOUT_MS }: ChildPlace,
  input = "",
): Promise<ChildOutput> =>
  new Promise((resolve) => {
    const options = {
      ...{ cwd, env: childEnvironment(env), timeout: timeoutMs, maxBuffer: MAX_BYTES, windowsHide: true },
      ...(signal !== undefined && { signal }),
      // npm is a batch file there, which needs a shell; names are checked before they get here.
      shell: process.platform === "win32",
    };
    const child = execFile(command, [...args], options, (error, stdout, stderr) =>
      resolve({ ok: error === null, isMissing: error?.code === "ENOENT", stdout, stderr }),
    );
    child.stdin?.on("error", () => {});
    child.stdin?.end(input);
  });
