/**
 * Detects that the shell in which npm started the program has exited. npm signals only that shell, which forwards
 * nothing.
 */

/** Polling interval of the parent, in ms. */
const POLL_MS = 1_000;

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Whether the process was started by `npx`, or by `npm start` of this package: in the foreground of a waiting shell.
 * Other npm scripts may leave a gateway running on purpose.
 */
export const wasStartedByNpm = (env: Environment): boolean =>
  env.npm_lifecycle_event === "npx" ||
  (env.npm_lifecycle_event === "start" && env.npm_package_name === "cardea");

/** Calls `onLost` once the parent has exited. Does not keep the process alive. */
export function watchParent(onLost: () => void, source: { readonly ppid: number } = process): void {
  const parent = source.ppid;
  const timer = setInterval(() => {
    if (source.ppid === parent) return;
    clearInterval(timer);
    onLost();
  }, POLL_MS);
  timer.unref();
}
