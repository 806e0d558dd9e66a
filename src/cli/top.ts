/** `cardea top`: the busy, slow or failing targets of the running gateway. */
import { type JsonObject, objectAt, stringAt } from "../wire/json.js";
import { writeJson } from "../wire/json-text.js";
import type { CommandContext } from "./command-context.js";
import { EXIT } from "./exit.js";
import { type ConfigFlags, type GatewayFlags, type JsonFlag, wantsJson } from "./flags.js";
import { repeat } from "./repeat.js";
import { findGateway, rowsOf } from "./running-gateway.js";
import { msOf } from "./status.js";
import { type Cell, tableText, widthOf } from "./table.js";
import { isTerminal, type Paint, painter } from "./terminal.js";
import { terminalSafe } from "./terminal-safe.js";

/** The time window in ms; at most the newest 1,000 calls count. */
const WINDOW_MS = 60_000;
const MAX_CALLS = 1000;
/** The number of targets that are shown. */
const MAX_TARGETS = 20;

interface BusyTarget {
  /** The exposed name, or the method if there is none. */
  readonly target: string;
  readonly server: string;
  readonly calls: number;
  readonly errors: number;
  /** In ms. */
  readonly p50: number;
  readonly p95: number;
}

/** Prints the busiest targets, on a terminal every 2 s until a signal. @returns the exit code */
export async function top(
  flags: ConfigFlags & JsonFlag & GatewayFlags,
  shell: CommandContext,
): Promise<number> {
  const json = wantsJson(flags, shell.env);
  const log = await shell.openLog({ quiet: true });
  const address = await findGateway(flags, shell, log);
  if (address === undefined) return EXIT.unavailable;
  const paint = painter(shell.stdout, shell.env);
  return repeat({
    ...{ shell, log, replaces: true },
    again: !json && isTerminal(shell.stdout, shell.env),
    show: async () => {
      const calls = await rowsOf(address, `calls?limit=${MAX_CALLS}`);
      const running = await rowsOf(address, "calls/running");
      const targets = busiest(calls, Date.now() - WINDOW_MS);
      if (json) return `${terminalSafe(writeJson({ running: running.length, targets }, 2))}\n`;
      return `${running.length} running; the last minute:\n\n${textOf(targets, paint, widthOf(shell.stdout))}`;
    },
  });
}

/** The targets with most calls since `since` (ms since 1970), the busiest first. */
export function busiest(calls: readonly JsonObject[], since: number): readonly BusyTarget[] {
  const groups = new Map<string, JsonObject[]>();
  for (const call of calls) {
    if (Number(call.at) < since) continue;
    const target = call.target === "" ? String(call.method) : String(call.target);
    const group = groups.get(target);
    if (group === undefined) groups.set(target, [call]);
    else group.push(call);
  }
  return [...groups]
    .map(([target, group]): BusyTarget => {
      const times = group.map((call) => Number(objectAt(call, "ms")?.total ?? 0)).sort((a, b) => a - b);
      const at = (share: number): number => times[Math.ceil(share * times.length) - 1] ?? 0;
      return {
        target,
        server: stringAt(group[0], "server") ?? "",
        calls: group.length,
        errors: group.filter(({ outcome }) => outcome !== "ok" && outcome !== "input_required").length,
        p50: at(0.5),
        p95: at(0.95),
      };
    })
    .sort((a, b) => b.calls - a.calls || b.p95 - a.p95)
    .slice(0, MAX_TARGETS);
}

function textOf(targets: readonly BusyTarget[], paint: Paint, width: number | undefined): string {
  const heads: readonly Pick<Cell, "text" | "narrow">[] = [
    { text: "CALLS", narrow: "keep" },
    { text: "ERRORS", narrow: "keep" },
    { text: "P50", narrow: 2 },
    { text: "P95", narrow: 1 },
    { text: "SERVER", narrow: 3 },
    { text: "TARGET" },
  ];
  return tableText(
    [
      heads.map((head): Cell => ({ ...head, paint: (padded) => paint("bold", padded) })),
      ...targets.map(({ target, server, calls, errors, p50, p95 }): readonly Cell[] => [
        { text: String(calls) },
        { text: String(errors), ...(errors > 0 && { paint: (padded: string) => paint("red", padded) }) },
        { text: msOf(p50) },
        { text: msOf(p95) },
        { text: server || "-" },
        { text: target },
      ]),
    ],
    width,
  );
}
