/** Has the shell ended in which npm started the program? npm signals that shell only, which forwards nothing. */

/** How often the parent is looked at, in ms. */
const POLL_MS = 1_000;

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Whether the process was started by `npx`, or by `npm start` of this very package: in the foreground of a shell that
 * waits for it. Other npm scripts may leave a gateway running on purpose.
 */
export const wasStartedByNpm = (env: Environment): boolean =>
  env.npm_lifecycle_event === "npx" ||
  (env.npm_lifecycle_event === "start" && env.npm_package_name === "cardea");

/** Calls `onLost` once when the parent has gone. It keeps no process alive. */
export function watchParent(onLost: () => void, source: { readonly ppid: number } = process): void {
  const parent = source.ppid;
  const timer = setInterval(() => {
    if (source.ppid === parent) return;
    clearInterval(timer);
    onLost();
  }, POLL_MS);
  timer.unref();
}
