/** What is to be done about a server in a state. */
import type { ServerRow } from "../../features/admin/rows.js";
import { untilOf } from "../format.js";

/** A sentence; undefined where nothing is to be done. `now`: ms since 1970. */
export function adviceFor(server: ServerRow, now: number): string | undefined {
  const { name, state, circuit, nextTryAt, signIn } = server;
  if (state === "backoff")
    return nextTryAt === undefined
      ? "It is started again by the next call; Retry does so now."
      : `It is tried again ${untilOf(nextTryAt, now)}; Retry does so at once.`;
  if (state === "stopped") return "It stays stopped until Restart, or a reload of the config.";
  if (state === "misconfigured") return "Correct its entry in the config; a reload takes it up.";
  if (state === "needs_sign_in" && signIn?.perPerson === true)
    return `Each person signs in: by the page that a call leads to, or by cardea login ${name} --as ID on the machine of the gateway.`;
  if (state === "needs_sign_in")
    return `Sign in here, or with cardea login ${name} on the machine of the gateway.`;
  if (circuit === "open")
    return "Too many calls failed, so calls are refused for a while; then a single one tries it.";
  if (circuit === "half_open") return "A single call tries it now; if that succeeds, calls go on.";
  return undefined;
}
