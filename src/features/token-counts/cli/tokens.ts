/** `cardea tokens`: the token cost of tool definitions in a model's context, and how to reduce it. */

import { type CommandContext, write } from "../../../cli/command-context.js";
import { EXIT } from "../../../cli/exit.js";
import {
  type AsFlags,
  type ConfigFlags,
  type GatewayFlags,
  isHost,
  type JsonFlag,
  principalFromFlags,
  wantsJson,
  type YesFlag,
} from "../../../cli/flags.js";
import { principalQuery } from "../../../cli/gateway-client.js";
import { type Cell, tableText, widthOf } from "../../../cli/table.js";
import { terminalSafe } from "../../../cli/terminal-safe.js";
import { progressTo, warnMissing, withGateway } from "../../../cli/with-gateway.js";
import type { Saving } from "../../../core/feature.js";
import { writeJson } from "../../../wire/json-text.js";
import type { EndpointTokens, TokenReport, ToolTokens } from "../report.js";

/** The number of most expensive tools that are shown. */
const MOST_EXPENSIVE = 10;

/** Prints the report. Returns the exit code. */
export async function tokens(
  flags: ConfigFlags & JsonFlag & AsFlags & GatewayFlags & YesFlag,
  shell: CommandContext,
): Promise<number> {
  const json = wantsJson(flags, shell.env);
  const principal = principalFromFlags(flags, shell.env);
  const as = isHost(principal) ? undefined : principal;
  return withGateway({ flags, shell }, async (gateway, log) => {
    const query = new URLSearchParams([...principalQuery(as)]);
    const report = (await gateway.page("tokens", query, progressTo(log))) as TokenReport;
    const text = json
      ? writeJson({ ...report, savings: tokenAdvice(report) }, 2)
      : asText(report, widthOf(shell.stdout));
    await write(shell.stdout, `${text}\n`);
    return warnMissing(log, await gateway.missing()) ? EXIT.failed : EXIT.done;
  });
}

const asText = (report: TokenReport, width: number | undefined): string =>
  [
    ...report.endpoints.map((endpoint) => endpointText(endpoint, width)),
    ...expensiveText(report, width),
    ...callsText(report, width),
    ...adviceText(report),
  ].join("\n\n");

function endpointText(
  { path, tools, bytes, tokens, instructions, servers }: EndpointTokens,
  width: number | undefined,
): string {
  const percent = (share: number): string => `${(share * 100).toFixed(1)} %`;
  const rest = tokens === 0 ? 0 : instructions / tokens;
  const rows: readonly Row[] = [
    ["server", "tools", "bytes", "tokens", "share"],
    ...servers.map(
      (row): Row => [
        row.server,
        number(row.tools),
        number(row.bytes),
        number(row.tokens),
        percent(row.share),
      ],
    ),
    ...(instructions === 0
      ? []
      : [["(instructions)", "", "", number(instructions), percent(rest)] satisfies Row]),
    ["(all)", number(tools), number(bytes), number(tokens), ""],
  ];
  const lines = table(rows, [undefined, 2, 3, "keep", 1], width);
  return `${path}: about ${number(tokens)} tokens (o200k)\n${lines}`;
}

function expensiveText({ tools }: TokenReport, width: number | undefined): readonly string[] {
  const most = tools.slice(0, MOST_EXPENSIVE);
  if (most.length === 0) return [];
  const rows = most.map(({ name, tokens }): Row => [name, number(tokens)]);
  return [`the most expensive tools:\n${table(rows, [undefined, "keep"], width)}`];
}

/** The tools without calls, if a running gateway counts calls. */
function callsText({ tools, counted }: TokenReport, width: number | undefined): readonly string[] {
  if (counted === undefined)
    return ["Which tools are called is not known: no gateway runs with this config and counts them."];
  const unused = unusedTools(tools);
  const rows = [...byServer(tools)]
    .map(([server, own]) => ({ server, own, idle: unusedTools(own) }))
    .toSorted((a, b) => sumOf(b.idle) - sumOf(a.idle))
    .flatMap(({ server, own, idle }): readonly Row[] => {
      if (own.some(({ calls }) => calls === undefined)) return [[server, "not known", ""]];
      if (idle.length === 0) return [];
      return [[server, `${idle.length} of ${own.length}`, `${number(sumOf(idle))} tokens`]];
    });
  const note =
    counted.seconds < DAY_SECONDS
      ? ["  (after a day of counted calls, tools.deny is proposed for them)"]
      : [];
  const since = `since the gateway started ${age(counted.seconds)} ago`;
  const title = `never called ${since}: ${unused.length} of ${tools.length} tools, ${number(sumOf(unused))} tokens`;
  if (rows.length === 0) return [title];
  return [[title, table(rows, [undefined, "keep", "keep"], width), ...note].join("\n")];
}

function adviceText(report: TokenReport): readonly string[] {
  const advice = tokenAdvice(report);
  if (advice.length === 0) return [];
  const rows = advice.map(
    ({ tokens, ...saving }) =>
      `  ${number(tokens).padStart(7)} tokens less${resultsText(saving)}: ${terminalSafe(`${saving.key}: ${writeJson(saving.value)}`)}`,
  );
  return [["to spend less, in the config:", ...rows].join("\n")];
}

/** For a saving in results: in how many, and of which tools. */
function resultsText({ results, of }: Omit<Saving, "tokens">): string {
  if (results === undefined) return "";
  const tools = of === undefined ? "" : ` of ${terminalSafe(of)}`;
  return ` in ${number(results)} ${results === 1 ? "result" : "results"}${tools} since the start`;
}

type Row = readonly string[];
/** For each column whether it stays on a narrow terminal. */
type Narrow = readonly Cell["narrow"][];

/** Aligned columns, the first to the left and numbers to the right. */
const table = (rows: readonly Row[], narrow: Narrow, width: number | undefined): string =>
  tableText(
    rows.map((row, y) =>
      row.map((text, x): Cell => {
        const its = narrow[x];
        return { text, isNumber: x > 0, ...(y === 0 && its !== undefined && { narrow: its }) };
      }),
    ),
    width,
    { indent: "  ", longest: Number.POSITIVE_INFINITY },
  ).trimEnd();

const number = (value: number): string => value.toLocaleString("en-US");

/** A duration in its largest unit. */
function age(seconds: number): string {
  if (seconds < 90) return `${seconds} s`;
  if (seconds < 5_400) return `${Math.round(seconds / 60)} min`;
  return seconds < 172_800 ? `${Math.round(seconds / 3_600)} h` : `${Math.round(seconds / 86_400)} d`;
}

/** A tool without calls for this time (seconds) may be unnecessary. */
const DAY_SECONDS = 86_400;

/**
 * The settings that save tokens, the largest saving first; denying tools is advised only after a day of counted calls.
 */
function tokenAdvice({ tools, savings, counted }: TokenReport): readonly Saving[] {
  const denials =
    counted === undefined || counted.seconds < DAY_SECONDS
      ? []
      : [...byServer(tools)].flatMap(([server, own]) => denialOf(server, own) ?? []);
  return [...savings, ...denials].toSorted((a, b) => b.tokens - a.tokens);
}

/** Undefined if all tools of the server were called, or the calls are unknown. */
function denialOf(server: string, tools: readonly ToolTokens[]): Saving | undefined {
  const unused = unusedTools(tools);
  if (unused.length === 0) return undefined;
  const tokens = sumOf(unused);
  const key = `mcpServers.${server}`;
  return unused.length === tools.length
    ? { key: `${key}.disabled`, value: true, tokens }
    : { key: `${key}.tools.deny`, value: unused.map(({ target }) => target), tokens };
}

/** The tools that were never called. */
const unusedTools = (tools: readonly ToolTokens[]): readonly ToolTokens[] =>
  tools.filter(({ calls }) => calls === 0);

/** The tokens of several tools. */
const sumOf = (tools: readonly ToolTokens[]): number =>
  tools.reduce((total, { tokens }) => total + tokens, 0);

/** The tools of each server. */
function byServer(tools: readonly ToolTokens[]): ReadonlyMap<string, readonly ToolTokens[]> {
  const servers = new Map<string, ToolTokens[]>();
  for (const tool of tools) {
    const own = servers.get(tool.server) ?? [];
    servers.set(tool.server, own);
    own.push(tool);
  }
  return servers;
}
