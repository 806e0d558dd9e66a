/** The overview of unlisted or deferred tools in the instructions: one line per server. */

import type { IntroducedServer, ToolList } from "../../core/list-transform.js";
import type { ServerFacts } from "../../core/upstream.js";
import { stringAt } from "../../wire/json.js";
import { CALL_TOOL, FIND_TOOLS } from "./own-tools.js";

/** The number of tools of each server in a list. */
function countsByServer({ entries }: ToolList): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { route } of entries) counts.set(route.upstream, (counts.get(route.upstream) ?? 0) + 1);
  return counts;
}

const NOT_LISTED = `Most tools here are not listed. ${FIND_TOOLS} searches the tools of these servers by what they do, and ${CALL_TOOL} calls what it finds:`;
const LISTED = "The tools here are those of these servers:";

/**
 * The overview of the tools that a client sees; undefined if no server has tools.
 *
 * @param isListed whether `tools/list` shows the tools
 */
export function toolOverview(
  tools: ToolList,
  servers: readonly IntroducedServer[],
  isListed: boolean,
): string | undefined {
  const counts = countsByServer(tools);
  const lines = servers.flatMap(
    ({ name, facts, hasListed }) =>
      lineOf(name, facts, hasListed ? (counts.get(name) ?? 0) : undefined) ?? [],
  );
  return lines.length === 0 ? undefined : [isListed ? LISTED : NOT_LISTED, "", ...lines].join("\n");
}

/** @param facts undefined before its first connection @param tools undefined while its list is unknown */
function lineOf(name: string, facts: ServerFacts | undefined, tools: number | undefined): string | undefined {
  if (tools === 0) return undefined;
  const count = tools === undefined ? "" : tools === 1 ? ": 1 tool" : `: ${tools} tools`;
  const about = facts && purposeOf(facts);
  return `- ${name}${count}${about === undefined ? "" : `. ${about}`}`;
}

/** Maximum characters per server: about 25 tokens. */
const MAX_PURPOSE = 100;

/** Markdown headings are skipped: they only say that these are instructions. */
const HEADINGS = /^#+ .*$/gm;

/** The first sentence of a server's instructions. */
function purposeOf({ serverInfo, instructions = "" }: ServerFacts): string | undefined {
  const said = [stringAt(serverInfo, "description"), instructions.slice(0, 2_000).replace(HEADINGS, "")];
  return said.map((each) => firstSentence(each ?? "")).find((each) => each !== "");
}

/** The first sentence of a text on one line, cut to `limit` characters. */
export function firstSentence(text: string, limit = MAX_PURPOSE): string {
  const start = text
    .slice(0, 8 * limit)
    .replace(/[\s\p{C}]+/gu, " ")
    .trim();
  const end = /[.!?](?=\s|$)/.exec(start);
  const sentence = end === null ? start : start.slice(0, end.index + 1);
  if (sentence.length <= limit) return sentence;
  return `${sentence.slice(0, limit - 1).replace(/[\uD800-\uDBFF]$/, "")}…`;
}
