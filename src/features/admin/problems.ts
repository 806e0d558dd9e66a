/** What is wrong now, as rows for operators: how bad, since when, how often, and what to do. */
import { isMisconfigured } from "../../config/config.js";
import { placedReasonOf } from "../../config/misconfigured.js";
import type { Problem } from "../../core/feature.js";
import type { ServerRuntime } from "../../gateway/server-runtime.js";
import type { GatewayStatus } from "../../gateway/status.js";
import {
  FAILURE_WINDOW_SECONDS,
  type FailureFigures,
  type ServerFailures,
} from "../../telemetry/server-failures.js";
import { sorted } from "./problem-order.js";
import type { ProblemRow } from "./rows.js";
import { needsOf } from "./sign-in-needs.js";

/** The sources of the rows. */
export interface ProblemSources {
  readonly servers: ReadonlyMap<string, Server>;
  readonly failures: ServerFailures;
  readonly status: Pick<GatewayStatus, "reloadErrors" | "isDraining">;
  /** Those of features. */
  readonly ofFeatures: readonly Problem[];
  /** In ms since 1970. */
  readonly now: number;
}

/** The rows, errors first, then the oldest. */
export function problemRows({
  servers,
  failures,
  status,
  ofFeatures,
  now,
}: ProblemSources): readonly ProblemRow[] {
  const rows: ProblemRow[] = [
    ...[...servers.values()].flatMap((server) => rowsOfServer(server, failures, now)),
    ...status.reloadErrors.map((reason, at) => ({
      ...{ id: `reload:${at}`, kind: "reload" as const, severity: "error" as const },
      text: `the newest config was refused: ${reason}`,
      actions: [{ kind: "check" as const, label: "Check the config", command: "cardea check" }],
    })),
    ...ofFeatures.map(({ text, blocks }) => ({
      ...{ id: `gateway:${text.slice(0, 100)}`, kind: "gateway" as const, text, actions: [] },
      severity: blocks ? ("error" as const) : ("warning" as const),
    })),
    ...(status.isDraining
      ? [
          {
            ...{ id: "draining", kind: "gateway" as const, severity: "warning" as const },
            ...{ text: "the gateway is stopping", actions: [] },
          },
        ]
      : []),
  ];
  return sorted(rows);
}

type Server = Pick<ServerRuntime, "config" | "upstream" | "breaker" | "life">;

function rowsOfServer(server: Server, failures: ServerFailures, now: number): readonly ProblemRow[] {
  const { config, life } = server;
  const { name } = config;
  if (isMisconfigured(config)) {
    const text = `${name} is misconfigured: ${placedReasonOf(config)}`;
    const check = { kind: "check" as const, label: "Check the config", command: "cardea check" };
    return [rowOf("misconfigured", "error", name, { text, since: life.configuredAt, actions: [check] })];
  }
  const away = awayRow(server, now);
  const { failed, timedOut } = failures.of(name);
  return [
    ...(away === undefined ? [] : [away]),
    ...signInRows(server, failures),
    // A server that cannot be reached fails its calls for that reason.
    ...(failed === undefined || away !== undefined ? [] : [figuresRow("error_rate", name, failed)]),
    ...(timedOut === undefined ? [] : [figuresRow("timeouts", name, timedOut)]),
  ];
}

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
  const text = `${name}: calls are held back (circuit ${breaker.state}); too many of the last ones failed`;
  return rowOf("circuit_open", "error", name, {
    ...{ text, since: now - openMs },
    actions: [restart(name, "Restart")],
  });
}

function signInRows({ config, upstream }: Server, failures: ServerFailures): readonly ProblemRow[] {
  const { name } = config;
  const { isPerPerson, needed } = needsOf(config, upstream, failures.signIns.of(name));
  return needed.map(({ principal, since, count }) => {
    const as = isPerPerson ? ` --as ${principal}` : "";
    return rowOf("sign_in", "warning", name, {
      text: isPerPerson ? `${principal} needs a sign-in at ${name}` : `${name} needs a sign-in`,
      ...{ since, count, principal },
      id: principal,
      actions: [
        {
          ...{ kind: "sign_in" as const, label: "Sign in", path: `logins/${encodeURIComponent(name)}` },
          ...{ body: { as: principal }, command: `cardea login ${name}${as}` },
        },
      ],
    });
  });
}

function figuresRow(kind: "error_rate" | "timeouts", name: string, figures: FailureFigures): ProblemRow {
  const { since, failed, calls, outcome } = figures;
  const minutes = FAILURE_WINDOW_SECONDS / 60;
  const what = kind === "timeouts" ? "timed out" : `failed (the last one: ${outcome})`;
  return rowOf(kind, failed * 2 >= calls ? "error" : "warning", name, {
    text: `${name}: ${failed} of ${calls} calls ${what} within ${minutes} min`,
    ...{ since, count: failed },
    figures: { failed, calls, windowSeconds: FAILURE_WINDOW_SECONDS },
    actions: [restart(name, "Restart")],
  });
}

const restart = (name: string, label: string) => ({
  ...{ kind: "restart" as const, label, path: `servers/${encodeURIComponent(name)}/restart` },
});

interface RowFacts extends Pick<ProblemRow, "text" | "actions" | "figures" | "principal"> {
  /** In ms since 1970. */
  readonly since?: number | undefined;
  readonly count?: number | undefined;
  /** What distinguishes it from others of the kind at the server. */
  readonly id?: string;
}

const rowOf = (
  kind: ProblemRow["kind"],
  severity: ProblemRow["severity"],
  server: string,
  { since, count, id, ...facts }: RowFacts,
): ProblemRow => ({
  ...{ id: [kind, server, ...(id === undefined ? [] : [id])].join(":"), kind, severity, server },
  ...facts,
  ...(since !== undefined && { since: new Date(since).toISOString() }),
  ...(count !== undefined && { count }),
});

const withoutName = (reason: string, name: string): string =>
  reason.startsWith(`${name} `) ? reason.slice(name.length + 1) : reason;
