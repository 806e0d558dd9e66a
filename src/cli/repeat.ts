/** Prints something periodically, until a signal. */
import { GatewayError } from "../core/errors.js";
import type { CommandContext, Log } from "./command-context.js";
import { EXIT } from "./exit.js";
import { isTerminal, writePainted } from "./terminal.js";

/** Interval in ms. */
const INTERVAL_MS = 2_000;
/** Clears a terminal and puts its cursor home (ECMA-48: CUP, ED). */
const HOME = "\u001b[H\u001b[J";

interface RepeatOptions {
  readonly shell: CommandContext;
  readonly log: Log;
  /** False: once. */
  readonly again: boolean;
  /** Whether each text replaces the previous one, on a terminal. */
  readonly replaces: boolean;
  /** The next text, already escaped. */
  readonly show: () => Promise<string>;
}

/** @returns the exit code: 0 after a signal, 69 if the gateway cannot be reached */
export async function repeat({ shell, log, again, replaces, show }: RepeatOptions): Promise<number> {
  const { stdout, env } = shell;
  let isEnded = false;
  const ended = again
    ? shell.signals.next().then(() => {
        isEnded = true;
      })
    : undefined;
  const home = again && replaces && isTerminal(stdout, env) ? HOME : "";
  try {
    do {
      await writePainted(stdout, `${home}${await show()}`);
      if (ended !== undefined) await Promise.race([ended, shell.wait(INTERVAL_MS)]);
    } while (again && !isEnded);
    return EXIT.done;
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    log.error({ code: error.code }, error.message);
    return error.code === "upstream_unavailable" ? EXIT.unavailable : EXIT.failed;
  }
}
