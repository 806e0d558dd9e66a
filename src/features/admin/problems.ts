/** What is wrong now, as rows for operators: how bad, since when, how often, and what to do. */
import { isMisconfigured } from "../../config/config.js";
import { placedReasonOf } from "../../config/misconfigured.js";
import type { Problem } from "../../core/feature.js";
import { DRAINING_REASON } from "../../core/gateway-api.js";
import { asArgument, signInCommand } from "../../core/sign-in-command.js";
import type { ServerRuntime } from "../../gateway/server-runtime.js";
import type { GatewayStatus } from "../../gateway/status.js";
import type { CallRow } from "../../telemetry/call-history.js";
import type { OpenQuestion } from "../../telemetry/pending-questions.js";
import {
  FAILURE_WINDOW_SECONDS,
  type FailureFigures,
  type ServerFailures,
} from "../../telemetry/server-failures.js";
import { callProblems } from "./call-problems.js";
import { sorted } from "./problem-order.js";
import { CHECK, failedOf, restart, rowOf, rowOfGateway } from "./problem-rows.js";
import type { ProblemRow } from "./rows.js";
import { needsOf } from "./sign-in-needs.js";

/** The sources of the rows. */
export interface ProblemSources {
  readonly servers: ReadonlyMap<string, Server>;
  readonly failures: ServerFailures;
  /** The last calls, the newest first. */
  readonly calls: readonly CallRow[];
  /** Those that no host has answered yet, the oldest first. */
  readonly questions: readonly OpenQuestion[];
  /** How many list entries of a server hosts cannot read. */
  readonly malformedOf: (server: string) => number;
  readonly status: Pick<GatewayStatus, "reloadErrors" | "isDraining" | "ineffective">;
  /** Those of features. */
  readonly ofFeatures: readonly Problem[];
  /** In ms since 1970. */
  readonly now: number;
}

/** The rows, errors first, then the oldest; notes last. */
export function problemRows(sources: ProblemSources): readonly ProblemRow[] {
  const { servers, calls, status, ofFeatures, now } = sources;
  return sorted([
    ...[...servers.values()].flatMap((server) => rowsOfServer(server, sources)),
    ...callProblems(calls, new Set(servers.keys()), now),
    ...questionRows(sources),
    ...status.reloadErrors.map((reason, at) =>
      rowOfGateway("reload", "error", `${at}`, {
        ...{ text: `the newest config was refused: ${reason}`, actions: [CHECK] },
      }),
    ),
    ...status.ineffective.map((text) =>
      rowOfGateway("ineffective", "warning", text.slice(0, MAX_ID), { text, actions: [CHECK] }),
    ),
    ...ofFeatures.map(({ text, blocks }) =>
      rowOfGateway("gateway", blocks ? "error" : "warning", text.slice(0, MAX_ID), { text, actions: [] }),
    ),
    ...(status.isDraining
      ? [rowOfGateway("gateway", "warning", "draining", { text: DRAINING_REASON, actions: [] })]
      : []),
  ]);
}

/** A question without an answer for longer than this (ms) is a problem: a person may not have seen it. */
const LONG_WAIT_MS = 60_000;
/** Characters of a text that is the id of its row. */
const MAX_ID = 100;

function questionRows({ questions, now }: ProblemSources): readonly ProblemRow[] {
  const waiting = questions.filter(({ since }) => now - Date.parse(since) > LONG_WAIT_MS);
  const askers = new Set(waiting.map(({ server }) => server));
  return [...askers].map((server) => {
    const own = waiting.filter((question) => question.server === server);
    const from = server === "" ? "the gateway" : server;
    const text = `${from} waits for answers: no host has answered what it asked`;
    const since = Math.min(...own.map((question) => Date.parse(question.since)));
    const facts = { text, since, count: own.length, actions: [] };
    return server === ""
      ? rowOfGateway("questions", "warning", "gateway", facts)
      : rowOf("questions", "warning", server, facts);
  });
}

type Server = Pick<ServerRuntime, "config" | "upstream" | "breaker" | "semaphore" | "life">;

function rowsOfServer(server: Server, sources: ProblemSources): readonly ProblemRow[] {
  const { failures, malformedOf, now } = sources;
  const { config, life, semaphore } = server;
  const { name } = config;
  if (isMisconfigured(config)) {
    const text = `${name} is misconfigured: ${placedReasonOf(config)}`;
    return [rowOf("misconfigured", "error", name, { text, since: life.configuredAt, actions: [CHECK] })];
  }
  const away = awayRow(server, now);
  const { failed, timedOut } = failures.of(name);
  return [
    ...(away === undefined ? [] : [away]),
    ...signInRows(server, failures),
    // A server that cannot be reached fails its calls for that reason.
    ...(failed === undefined || away !== undefined ? [] : [figuresRow("error_rate", name, failed)]),
    ...(timedOut === undefined ? [] : [figuresRow("timeouts", name, timedOut)]),
    ...(semaphore.queued === 0 ? [] : [busyRow(name, semaphore.queued)]),
    ...(malformedOf(name) === 0 ? [] : [malformedRow(name, malformedOf(name))]),
  ];
}

function busyRow(name: string, count: number): ProblemRow {
  const text = `${name} is busy: ${countOf(count, "call waits", "calls wait")} for a free slot`;
  return rowOf("busy", "warning", name, { text, count, actions: [] });
}

function malformedRow(name: string, count: number): ProblemRow {
  const entries = countOf(count, "entry is", "entries are");
  const text = `${name} lists malformed entries: ${entries} left out, as hosts cannot read them`;
  return rowOf("malformed", "warning", name, { text, count, actions: [] });
}

const countOf = (count: number, one: string, many: string): string => `${count} ${count === 1 ? one : many}`;

/** It lasts until a connection or a call succeeds, whatever is attempted meanwhile. */
function awayRow({ config, upstream, breaker, life }: Server, now: number): ProblemRow | undefined {
  const { name, required } = config;
  const { outage } = life;
  const isStopped = upstream.state === "stopped";
  if (outage !== undefined || isStopped) {
    const reason = outage?.reason ?? upstream.lastError;
    const text = `${name} ${isStopped ? "is stopped" : "cannot be reached"}${reason === undefined ? "" : `: ${withoutName(reason, name)}`}`;
    return rowOf("unavailable", required || outage !== undefined ? "error" : "warning", name, {
      ...{ text, since: outage?.since, count: outage?.failures },
      actions: [restart(name, "Retry")],
    });
  }
  const openMs = breaker.openForMs;
  if (openMs === undefined) return undefined;
  const text = `calls to ${name} are held back (circuit ${breaker.state}): too many of the last ones failed`;
  return rowOf("circuit_open", "error", name, {
    ...{ text, since: now - openMs },
    actions: [restart(name, "Restart")],
  });
}

function signInRows({ config, upstream }: Server, failures: ServerFailures): readonly ProblemRow[] {
  const { name } = config;
  const { isPerPerson, needed } = needsOf(config, upstream, failures.signIns.of(name));
  return needed.map(({ principal, since, count }) => {
    return rowOf("sign_in", "warning", name, {
      text: isPerPerson ? `${principal} needs a sign-in at ${name}` : `${name} needs a sign-in`,
      ...{ since, count, principal },
      id: principal,
      actions: [
        {
          ...{ kind: "sign_in" as const, label: "Sign in", path: `logins/${encodeURIComponent(name)}` },
          ...{
            body: { as: principal },
            command: signInCommand(name, isPerPerson ? asArgument(principal) : undefined),
          },
        },
      ],
    });
  });
}

function figuresRow(kind: "error_rate" | "timeouts", name: string, found: FailureFigures): ProblemRow {
  const { since, failed, calls, outcome } = found;
  const figures = { failed, calls, windowSeconds: FAILURE_WINDOW_SECONDS };
  const minutes = FAILURE_WINDOW_SECONDS / 60;
  const text =
    kind === "timeouts"
      ? `${name} does not answer in time: ${failedOf(figures)} timed out within ${minutes} min`
      : `${name} fails often: ${failedOf(figures)} failed within ${minutes} min (the last one: ${outcome})`;
  return rowOf(kind, failed * 2 >= calls ? "error" : "warning", name, {
    ...{ text, since, count: failed, figures },
    actions: [restart(name, "Restart")],
  });
}

const withoutName = (reason: string, name: string): string =>
  reason.startsWith(`${name} `) ? reason.slice(name.length + 1) : reason;
