/** `cardea status`: the state of the running gateway and of each of its servers. */
import { type JsonObject, objectAt, stringAt } from "../wire/json.js";
import { writeJson } from "../wire/json-text.js";
import type { CommandContext } from "./command-context.js";
import { EXIT } from "./exit.js";
import { type ConfigFlags, type GatewayFlags, isFlagSet, type JsonFlag, wantsJson } from "./flags.js";
import { type Address, pageOf } from "./gateway-client.js";
import { durationOf, runningProblemText, wrapped } from "./problem-text.js";
import { repeat } from "./repeat.js";
import { findGateway, rowsOf } from "./running-gateway.js";
import { type Cell, tableText, widthOf } from "./table.js";
import { type Paint, painter } from "./terminal.js";
import { terminalSafe } from "./terminal-safe.js";

/** Whether it is printed periodically. */
export interface WatchFlag {
  readonly watch?: boolean;
}

interface StatusPages {
  readonly status: JsonObject;
  readonly servers: readonly JsonObject[];
  readonly problems: readonly JsonObject[];
  readonly sessions: readonly JsonObject[];
  readonly questions: readonly JsonObject[];
}

/** Prints it once, or every 2 s. @returns the exit code */
export async function status(
  flags: ConfigFlags & JsonFlag & GatewayFlags & WatchFlag,
  shell: CommandContext,
): Promise<number> {
  const json = wantsJson(flags, shell.env);
  const log = await shell.openLog({ quiet: true });
  const address = await findGateway(flags, shell, log);
  if (address === undefined) return EXIT.unavailable;
  const again = isFlagSet(flags.watch, "CARDEA_WATCH", shell.env);
  const paint = painter(shell.stdout, shell.env);
  return repeat({
    ...{ shell, log, again },
    replaces: !json,
    show: async () => {
      const pages = await pagesOf(address);
      if (json) return `${terminalSafe(writeJson(pages, again ? undefined : 2))}\n`;
      const width = widthOf(shell.stdout);
      return textOf(pages, paint, { width, headWidth: width ?? columnsOf(shell.env) });
    },
  });
}

async function pagesOf(address: Address): Promise<StatusPages> {
  const [status, servers, problems, sessions, questions] = await Promise.all([
    pageOf(address, "status") as Promise<JsonObject>,
    rowsOf(address, "servers"),
    rowsOf(address, "problems"),
    rowsOf(address, "sessions"),
    rowsOf(address, "questions"),
  ]);
  // The rows of the servers already contain this.
  const { servers: _, ...own } = status;
  return { status: own, servers, problems, sessions, questions };
}

/** What is wrong is shown on a narrow terminal, too. */
const HEADS: readonly Pick<Cell, "text" | "narrow">[] = [
  { text: "SERVER" },
  { text: "STATE", narrow: "keep" },
  { text: "ERA", narrow: 4 },
  { text: "CALLS", narrow: 1 },
  { text: "RUNNING", narrow: 5 },
  { text: "P50", narrow: 3 },
  { text: "P95", narrow: 2 },
  { text: "RESTARTS", narrow: 6 },
  { text: "NOTE" },
];
const STATE_COLOURS: Readonly<Record<string, "green" | "yellow" | "red" | "dim">> = {
  ready: "green",
  "in use": "green",
  idle: "dim",
  starting: "yellow",
  needs_sign_in: "yellow",
  backoff: "red",
  misconfigured: "red",
  stopped: "red",
};

/** `COLUMNS`, for output that is no terminal; undefined: lines are not wrapped. */
function columnsOf({ COLUMNS = "" }: CommandContext["env"]): number | undefined {
  return /^[1-9]\d{0,4}$/.test(COLUMNS) ? Number(COLUMNS) : undefined;
}

interface Widths {
  /** Of the terminal; undefined for other output, where tables are never cut. */
  readonly width: number | undefined;
  /** Of the line before the table, which is wrapped. */
  readonly headWidth: number | undefined;
}

function textOf(pages: StatusPages, paint: Paint, { width, headWidth }: Widths): string {
  const { status, servers, problems, sessions, questions } = pages;
  const isReady = status.ready === true;
  const reasons = Array.isArray(status.reasons) ? status.reasons.map(String) : [];
  const facts = [
    `cardea ${String(status.version)}`,
    `pid ${String(status.pid)}`,
    `up ${durationOf(Number(status.uptimeSeconds))}`,
    countOf(sessions.length, "session"),
    countOf(questions.length, "open question"),
    stringAt(status, "url") ?? "",
  ];
  const word = isReady ? "ready" : "not ready";
  const shown = facts.filter((fact) => fact !== "").map(terminalSafe);
  const head = wrapped(
    shown.map((fact, at) => (at === shown.length - 1 ? fact : `${fact},`)),
    { width: headWidth ?? Number.POSITIVE_INFINITY, taken: word.length + ": ".length },
  );
  const state = paint(isReady ? "green" : "red", word);
  const others = reasons.filter((reason) => !problems.some((problem) => isSaidBy(problem, reason)));
  const why = [
    ...others.map((reason) => `  ${paint("yellow", terminalSafe(reason))}\n`),
    ...problems.map((problem) => runningProblemText(problem, paint, headWidth ?? Number.POSITIVE_INFINITY)),
  ].join("");
  const rows = [
    HEADS.map((head): Cell => ({ ...head, paint: (padded) => paint("bold", padded) })),
    ...servers.map((server) => rowOf(server, paint)),
  ];
  return `${state}: ${head}\n${why}\n${tableText(rows, width)}`;
}

/** Whether a problem says what a reason of readiness says, with figures and age. */
function isSaidBy(problem: JsonObject, reason: string): boolean {
  const server = stringAt(problem, "server");
  if (server === undefined) return stringAt(problem, "text") === reason;
  const begins = (start: string): boolean =>
    reason.startsWith(`${start}: `) || reason.startsWith(`${start} failed`);
  return begins(`server ${server}`) || begins(`required server ${server}`);
}

function rowOf(server: JsonObject, paint: Paint): readonly Cell[] {
  const state = server.state === "ready" && server.inUse === true ? "in use" : String(server.state);
  const revisions = Array.isArray(server.revisions) ? server.revisions.map(String) : [];
  const latency = objectAt(server, "latencyMs");
  const name = String(server.name);
  const lastError = stringAt(server, "lastError") ?? "";
  // The first column has the name.
  const reason = lastError.startsWith(`${name} `) ? lastError.slice(name.length + 1) : lastError;
  const circuit = server.circuit === "closed" ? "" : `circuit ${String(server.circuit)}; `;
  return [
    { text: name },
    { text: state, paint: (padded) => paint(STATE_COLOURS[state] ?? "yellow", padded) },
    { text: revisions.join(" ") || "-" },
    { text: `${Number(server.calls ?? 0)}` },
    { text: `${Number(server.inFlight ?? 0)}` },
    { text: latency === undefined ? "-" : msOf(latency.p50) },
    { text: latency === undefined ? "-" : msOf(latency.p95) },
    { text: `${Number(server.restarts ?? 0)}` },
    { text: `${circuit}${reason}` },
  ];
}

/** `3.1 ms`, `240 ms`, `12.5 s`. */
export function msOf(value: unknown): string {
  const ms = Number(value);
  if (ms >= 10_000) return `${(ms / 1000).toFixed(1)} s`;
  return ms >= 100 ? `${Math.round(ms)} ms` : `${ms.toFixed(1)} ms`;
}

const countOf = (count: number, what: string): string => `${count} ${what}${count === 1 ? "" : "s"}`;
