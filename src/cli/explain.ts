/** `cardea explain`: prints the decision about a call, and the reason, without making it. */
import type { ExplainPlace } from "../core/feature.js";
import type { Gateway } from "../gateway/gateway.js";
import { writeJson } from "../wire/json-text.js";
import { type CommandContext, write } from "./command-context.js";
import { EXIT, UsageError } from "./exit.js";
import type { Feature } from "./feature.js";
import {
  type AsFlags,
  type ConfigFlags,
  type GatewayFlags,
  linesOf as givenLines,
  type JsonFlag,
  principalFromFlags,
  wantsJson,
  type YesFlag,
} from "./flags.js";
import { parseArguments, progressTo, warnMissing, withGateway } from "./with-gateway.js";

type KnownTarget = Exclude<Awaited<ReturnType<Gateway["explain"]>>, { readonly unknown: string }>;

/** `--after`: the words behind it, to the next flag. */
export interface AfterFlag {
  readonly after?: readonly string[];
}

/** Returns the exit code. */
export async function explain(
  named: string | undefined,
  words: readonly string[],
  flags: ConfigFlags & JsonFlag & AsFlags & GatewayFlags & YesFlag & AfterFlag,
  shell: CommandContext,
): Promise<number> {
  const { name, after, rest } = wordsOf(named, givenLines(flags.after, shell.env.CARDEA_AFTER));
  const args = parseArguments([...rest, ...words]);
  const supposed = after.length === 0 ? {} : { after };
  const principal = principalFromFlags(flags, shell.env);
  const json = wantsJson(flags, shell.env);
  return withGateway({ flags, shell }, async (gateway, log) => {
    const explained = await gateway.explain({ name, args, ...supposed, ...principal }, progressTo(log));
    if (json) await write(shell.stdout, `${writeJson(explained, 2)}\n`);
    else if ("unknown" in explained) log.error({}, explained.unknown);
    else await write(shell.stdout, `${asText(name, explained, shell.features)}\n`);
    if (!("unknown" in explained)) return EXIT.done;
    // It may belong to a missing server.
    warnMissing(log, await gateway.missing());
    return EXIT.failed;
  });
}

/** An argument of a tool, and no name: `k=v`, `k:=1`, or JSON. */
const ARGUMENT = /^(?:[\w.-]+:?=|\{)/;

/**
 * The flag takes all words behind it, so that in `--after A B TOOL k=v` the tool and its arguments are the last of them.
 * @throws UsageError if there is no tool
 */
function wordsOf(named: string | undefined, given: readonly string[]) {
  const end = named === undefined ? given.findLastIndex((word) => !ARGUMENT.test(word)) : given.length;
  const name = named ?? given[end];
  if (name === undefined) throw new UsageError("explain needs the name of a tool");
  return { name, after: given.slice(0, end), rest: given.slice(end + 1) };
}

/** What features say of the members that they have added. */
function linesOf(
  explained: KnownTarget,
  features: readonly Feature[],
): (place: ExplainPlace) => readonly string[] {
  const lines = features.flatMap((feature) => feature.explainedLines?.({ ...explained }) ?? []);
  return (place) => lines.flatMap((each) => each[place] ?? []).map((line) => `  ${line}`);
}

const OUTCOMES: Readonly<Record<KnownTarget["effect"], string>> = {
  allow: "is let through",
  depends_on_groups: "depends on groups that are not known",
  approve: "needs the approval of a person at the host",
  redact: "is allowed with redaction",
  deny: "is refused",
  hide: "is hidden: refused as an unknown name",
};

function asText(name: string, explained: KnownTarget, features: readonly Feature[]): string {
  const { effect, rule, message, server, target, rules, limits, badArguments, argumentNames } = explained;
  const ofFeatures = linesOf(explained, features);
  const decider =
    effect === "depends_on_groups"
      ? "no token of this principal was seen; give its groups with --groups"
      : rule === "default"
        ? "no rule decides, so policy.default does"
        : `rule "${rule}" decides`;
  const about = rules.filter(
    ({ matches, decides, on, why }) => matches || decides || (on === "call" && !UNRELATED_REASONS.has(why)),
  );
  const rest = rules.length - about.length;
  return [
    `${name} of server ${server}${target === name ? "" : ` (there ${target})`}, called by ${principalText(explained)}:`,
    ...(explained.principal.unknown === undefined ? [] : [`  note: ${explained.principal.unknown}`]),
    ...(badArguments === undefined ? [] : [`  the arguments are refused before any rule: ${badArguments}`]),
    `  it ${OUTCOMES[effect]}: ${decider}${message === undefined ? "" : ` ("${message}")`}`,
    ...ofFeatures("list"),
    ...ofFeatures("definition"),
    ...(argumentNames === undefined ? [] : argumentLines(argumentNames)),
    ...ofFeatures("schemas"),
    "",
    about.length === 0 ? "rules: none applies" : "rules, in order; the first that matches decides:",
    ...table(
      about.map((row) => [
        row.decides ? "->" : "",
        row.rule,
        row.effect,
        row.of === undefined ? row.why : `${row.why}, for ${row.of}`,
      ]),
    ),
    ...(rest === 0
      ? []
      : [`  (${rest} more ${rest === 1 ? "applies" : "apply"} to other targets; --json lists all)`]),
    "",
    limits.length === 0 ? "limits: none applies" : "limits that apply:",
    ...table(limits.map((row) => ["", row.limit, `per ${row.per}`, boundsOf(row)])),
  ].join("\n");
}

/** Which names an HTTP API has for the arguments that are listed under others. */
const argumentLines = (names: NonNullable<KnownTarget["argumentNames"]>): readonly string[] => [
  "  arguments under other names than the API's, which models do not take; rules may use both:",
  ...Object.entries(names).map(([listed, own]) => `    ${listed} is ${writeJson(own)} in the API`),
];

/** Results of rules that cannot apply to the call; not printed. */
const UNRELATED_REASONS: ReadonlySet<string> = new Set([
  "it applies to other tools, prompts, resources or servers",
]);

function principalText({ principal: { id, groups, scopes, seenAt } }: KnownTarget): string {
  const more = [
    ...(seenAt === undefined ? [] : [`as its token of ${seenAt} says`]),
    ...(groups.length === 0 ? [] : [`groups ${groups.join(", ")}`]),
    ...(scopes.length === 0 ? [] : [`scopes ${scopes.join(", ")}`]),
  ];
  return more.length === 0 ? id : `${id} (${more.join("; ")})`;
}

function boundsOf({ waitMs, timeoutMs, concurrency }: KnownTarget["limits"][number]): string {
  return [
    waitMs === 0 ? "a call may start now" : `the next call may start in ${Math.ceil(waitMs / 1000)} s`,
    ...(concurrency === undefined ? [] : [`${concurrency} at a time`]),
    ...(timeoutMs === undefined ? [] : [`timeout after ${timeoutMs / 1000} s without a sign of life`]),
  ].join(", ");
}

function table(rows: readonly (readonly [string, string, string, string])[]): readonly string[] {
  const wide = (column: 1 | 2): number => Math.max(0, ...rows.map((row) => row[column].length));
  const [names, kinds] = [wide(1), wide(2)];
  return rows.map(([mark, name, kind, why]) =>
    `  ${mark.padEnd(2)} ${name.padEnd(names)}  ${kind.padEnd(kinds)}  ${why}`.trimEnd(),
  );
}
