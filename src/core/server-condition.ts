/** What does a host learn of a server: its state, why it is not available, whether trying again helps, and who can fix it? */
import { shortText } from "./short-text.js";
import { signInCommand } from "./sign-in-command.js";
import type { UpstreamState } from "./upstream.js";

/** A server as one client finds it; written to hosts unchanged. */
export interface ServerCondition {
  /** Its key in the config. */
  readonly server: string;
  /** `backoff` lasts from the first failure to the next connection, attempts in between included. */
  readonly state: UpstreamState;
  /** Why it is not available, as the rest of a sentence about it; absent while it is. */
  readonly reason?: string;
  /** Whether trying again helps, and who can fix it. */
  readonly action?: string;
}

/** What is known of a server. */
export interface ServerFindings {
  readonly name: string;
  readonly state: UpstreamState;
  /** Why it is not connected, redacted. */
  readonly lastError: string | undefined;
  /** Why its lists could not be read, redacted. */
  readonly listError: string | undefined;
  /** Whether it refuses the client until its principal has signed in. */
  readonly wantsSignIn: boolean;
  /** The argument of `cardea login --as` for that principal; undefined where one sign-in serves all. */
  readonly as?: string | undefined;
  /** Whether its tools are known to the client. */
  readonly hasListed: boolean;
}

/** The longest reason, in characters. */
const MAX_REASON = 200;

/** The condition of a server. A server on demand that is idle is available. */
export function conditionOf(found: ServerFindings): ServerCondition {
  const { name: server, state, lastError, listError, wantsSignIn, as, hasListed } = found;
  if (state === "misconfigured") {
    const action =
      "Trying again does not help: the operator of the gateway has to correct its entry in the config (cardea check).";
    return { server, state, reason: reasonIn(lastError, server), action };
  }
  if (wantsSignIn) {
    const action = `The user has to sign in: "${signInCommand(server, as)}", or the page that a call of one of its tools leads to. Then it can be used at once.`;
    return { server, state: "needs_sign_in", reason: "it needs a sign-in", action };
  }
  // Attempts of a server that failed do not change what a host can do.
  const hasFailed = state === "backoff" || (lastError !== undefined && state !== "ready");
  if (hasFailed || state === "stopped") {
    const action =
      "Try again in a minute: the gateway connects as soon as it can. If that does not help, only the operator of the gateway can fix it (cardea doctor).";
    return { server, state: hasFailed ? "backoff" : state, reason: reasonIn(lastError, server), action };
  }
  if (hasListed) return { server, state };
  if (listError !== undefined) {
    const action =
      "Try again in a minute. If that does not help, only the operator of the gateway can fix it (cardea doctor).";
    return { server, state, reason: reasonIn(listError, server), action };
  }
  if (state !== "starting") return { server, state };
  return { server, state, reason: "it is still starting", action: "Try again in a few seconds." };
}

/** Whether a host can use the server now. */
export const isAvailable = ({ reason }: ServerCondition): boolean => reason === undefined;

/** On one line, and without the name of the server in front. */
function reasonIn(error: string | undefined, server: string): string {
  if (error === undefined) return "it cannot be reached";
  const line = error.replace(/[\s\p{C}]+/gu, " ").trim();
  const said = line.startsWith("server ") ? line.slice("server ".length) : line;
  const reason = said.startsWith(`${server} `) ? `it ${said.slice(server.length + 1)}` : line;
  return reason.length <= MAX_REASON ? reason : `${shortText(reason, MAX_REASON)}…`;
}
