/** The problems of the gateway, worst first, for the overview. */

import type { ServerRow } from "../../features/admin/rows.js";
import type { GatewayState } from "./gateway-state.js";

/** A problem, and a link to its view. */
export interface Problem {
  readonly level: "bad" | "warn";
  readonly title: string;
  readonly detail: string;
  readonly view: string;
  readonly item?: string;
}

/** A question pending for longer than this is a problem. */
const LONG_WAIT_MS = 60_000;

/** The problems of the gateway in this state. `now` in ms since 1970. */
export function problemsOf(state: GatewayState, now: number): readonly Problem[] {
  const { status, servers, questions, trouble } = state;
  const found: Problem[] = [];
  if (trouble !== undefined) {
    const detail = `The console cannot read its pages: ${trouble}`;
    found.push({ level: "bad", title: "The gateway does not answer", detail, view: "overview" });
  }
  const named = servers.flatMap(problemsOfServer);
  found.push(...named);
  const names = named.flatMap(({ item }) => item ?? []);
  for (const reason of status?.reasons ?? []) {
    // A server that is already listed is not repeated.
    if (names.some((name) => reason.includes(name))) continue;
    const level = status?.ready === true ? "warn" : "bad";
    found.push({ level, title: level === "bad" ? "Not ready" : "Degraded", detail: reason, view: "servers" });
  }
  const waiting = questions.filter(({ since }) => now - Date.parse(since) > LONG_WAIT_MS);
  if (waiting.length > 0) {
    const servers = [...new Set(waiting.map(({ server }) => server))].join(", ");
    const title = waiting.length === 1 ? "A question waits" : `${waiting.length} questions wait`;
    found.push({ level: "warn", title, detail: `Open for over a minute: ${servers}`, view: "sessions" });
  }
  return found.sort((a, b) => Number(b.level === "bad") - Number(a.level === "bad"));
}

function problemsOfServer(server: ServerRow): readonly Problem[] {
  const { name, state, lastError, circuit, waiting, malformed } = server;
  const at = { view: "servers", item: name };
  if (state === "backoff" || state === "stopped") {
    const title = `${name} is ${state === "stopped" ? "stopped" : "down, and is tried again"}`;
    return [{ level: "bad", title, detail: lastError ?? "It gave no reason.", ...at }];
  }
  if (state === "misconfigured") {
    return [{ level: "bad", title: `${name} is misconfigured`, detail: lastError ?? "", ...at }];
  }
  if (state === "needs_sign_in") {
    return [
      {
        level: "warn",
        title: `${name} needs a sign-in`,
        detail: lastError ?? "Sign in at the server.",
        ...at,
      },
    ];
  }
  const found: Problem[] = [];
  if (circuit === "open" || circuit === "half_open") {
    const title = `${name}: calls are held back`;
    found.push({
      level: "bad",
      title,
      detail: lastError ?? "Its circuit breaker is open: too many calls failed.",
      ...at,
    });
  }
  if (waiting > 0) {
    const detail = `${waiting} ${waiting === 1 ? "call waits" : "calls wait"} for a free slot`;
    found.push({ level: "warn", title: `${name} is busy`, detail, ...at });
  }
  if (malformed.length > 0) {
    const detail = `${malformed.length} of its entries cannot be read by hosts and are left out`;
    found.push({ level: "warn", title: `${name} lists malformed entries`, detail, ...at });
  }
  return found;
}
