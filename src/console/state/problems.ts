/** The problems of the gateway, worst first, for the overview. */

import type { CallRow, ServerRow } from "../../features/admin/rows.js";
import { countOf, msOf, untilOf } from "../format.js";
import type { GatewayState } from "./gateway-state.js";
import { callsOfServer, failsOften, failuresText, refusalsOf, type ServerCalls } from "./server-calls.js";

/** What a button beside a problem does to its server. */
type Remedy = "retry" | "restart" | "sign-in";

/** A problem, and a link to its view. */
export interface Problem {
  /** `info`: worth knowing, but nothing is broken. */
  readonly level: "bad" | "warn" | "info";
  readonly title: string;
  readonly detail: string;
  readonly view: string;
  readonly item?: string;
  /** Ms since 1970. */
  readonly since?: number | undefined;
  /** Such as `12 calls`. */
  readonly count?: string | undefined;
  readonly remedy?: Remedy;
  /** Who has to sign in. */
  readonly principal?: string;
}

/** A question pending for longer than this is a problem. */
const LONG_WAIT_MS = 60_000;
/** A server whose answers take longer than this is slow. */
const SLOW_MS = 3_000;
const LEVELS = ["bad", "warn", "info"];

/** What is to be done about a server in a state; undefined where nothing is. */
export function adviceFor({ state, circuit, nextTryAt }: ServerRow, now: number): string | undefined {
  if (state === "backoff")
    return nextTryAt === undefined
      ? "It is started again by the next call; Retry does so now."
      : `It is tried again ${untilOf(nextTryAt, now)}; Retry does so at once.`;
  if (state === "stopped") return "It stays stopped until Restart, or a reload of the config.";
  if (state === "misconfigured") return "Correct its entry in the config; a reload takes it up.";
  if (state === "needs_sign_in") return "Sign in here, or with cardea login on the machine of the gateway.";
  if (circuit === "open")
    return "Too many calls failed, so calls are refused for a while; then a single one tries it.";
  if (circuit === "half_open") return "A single call tries it now; if that succeeds, calls go on.";
  return undefined;
}

/** Those that a person must do something about. */
export const pressing = (problems: readonly Problem[]): readonly Problem[] =>
  problems.filter(({ level }) => level !== "info");

/** The problems of the gateway in this state. `now` in ms since 1970. */
export function problemsOf(
  state: GatewayState,
  now: number,
  rows: readonly CallRow[] = [],
): readonly Problem[] {
  const { status, servers, questions, trouble } = state;
  const found: Problem[] = [];
  if (trouble !== undefined) {
    const detail = `The console cannot read its pages: ${trouble}`;
    found.push({ level: "bad", title: "The gateway does not answer", detail, view: "overview" });
  }
  const named = servers.flatMap((server) => problemsOfServer(server, callsOfServer(rows, server.name, now)));
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
    const names = [...new Set(waiting.map(({ server }) => server || "the gateway"))].join(", ");
    const title = waiting.length === 1 ? "A question waits" : `${waiting.length} questions wait`;
    const since = Math.min(...waiting.map((question) => Date.parse(question.since)));
    found.push({ level: "warn", title, detail: `Of ${names}`, view: "inbox", since });
  }
  for (const { rule, count, targets, since } of refusalsOf(rows, now)) {
    found.push({
      level: "info",
      title: `${rule} refuses calls`,
      detail: `The rule or limit refused ${targets.slice(0, 3).join(", ")}${targets.length > 3 ? " …" : ""}`,
      view: "policy",
      item: rule,
      since,
      count: countOf(count, "call"),
    });
  }
  return found.sort((a, b) => LEVELS.indexOf(a.level) - LEVELS.indexOf(b.level));
}

function problemsOfServer(server: ServerRow, calls: ServerCalls): readonly Problem[] {
  const broken = brokenOf(server, calls);
  if (broken !== undefined) return [broken];
  const { name, waiting, malformed } = server;
  const at = { view: "servers", item: name };
  const found: Problem[] = [];
  if (failsOften(calls)) {
    const isTimedOut = calls.timedOut === calls.failed;
    found.push({
      level: 2 * calls.failed >= calls.calls ? "bad" : "warn",
      title: isTimedOut ? `${name} does not answer in time` : `${name} fails often`,
      detail: failuresText(calls),
      since: calls.failingSince,
      count: countOf(calls.failed, "call"),
      ...at,
    });
  }
  if (calls.p95 !== undefined && calls.p95 > SLOW_MS) {
    const detail = `95 % of its last ${calls.calls} calls took up to ${msOf(calls.p95)}`;
    found.push({ level: "warn", title: `${name} is slow`, detail, ...at });
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

/** Why no call, or not every call, reaches the server. */
function brokenOf(server: ServerRow, calls: ServerCalls): Problem | undefined {
  const { name, state, lastError, circuit, failingSince } = server;
  const facts = {
    ...{ view: "servers", item: name },
    since: failingSince === undefined ? calls.failingSince : Date.parse(failingSince),
    count: calls.failed === 0 ? undefined : countOf(calls.failed, "call"),
  };
  if (state === "backoff" || state === "stopped") {
    const isStopped = state === "stopped";
    const title = `${name} is ${isStopped ? "stopped" : "down"}`;
    const detail = lastError ?? "It gave no reason.";
    return { level: "bad", title, detail, remedy: isStopped ? "restart" : "retry", ...facts };
  }
  if (state === "misconfigured")
    return { level: "bad", title: `${name} is misconfigured`, detail: lastError ?? "", ...facts };
  if (state === "needs_sign_in") {
    const [first, ...others] = server.signIn?.needed ?? [];
    // Where each person signs in, the connection without credentials is no fault before a person was refused.
    if (first === undefined && server.signIn?.perPerson === true) return undefined;
    const more = others.length === 0 ? "" : ` (and ${countOf(others.length, "other principal")})`;
    return {
      ...facts,
      ...{
        level: "warn",
        title: `${name} needs a sign-in${more}`,
        detail: lastError ?? "",
        remedy: "sign-in",
      },
      ...(first?.since !== undefined && { since: Date.parse(first.since) }),
      ...(first !== undefined && { principal: first.principal }),
    };
  }
  if (circuit !== "open" && circuit !== "half_open") return undefined;
  const detail = lastError ?? (calls.failed > 0 ? failuresText(calls) : "Too many calls failed.");
  return { level: "bad", title: `${name}: calls are held back`, detail, remedy: "restart", ...facts };
}
