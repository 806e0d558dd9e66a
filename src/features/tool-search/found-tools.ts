/** How are found tools written for a model: which of them with their schema, and how much in all? */

import type { ExposedItem } from "../../core/list-transform.js";
import type { ServerCondition } from "../../core/server-condition.js";
import { type JsonObject, objectAt, stringAt } from "../../wire/json.js";
import { writeJson } from "../../wire/json-text.js";
import { Payload } from "../../wire/payload.js";
import { type DETAILS, MAX_FOUND } from "./own-tools.js";
import { firstSentence } from "./tool-overview.js";
import type { FoundTools } from "./tool-search.js";

/** How much is said of each tool. */
export type Detail = (typeof DETAILS)[number];

/** What the result depends on besides the tools. */
export interface FoundToolsOptions {
  /** What the client asked for; undefined: schemas of the first ones. */
  readonly detail: Detail | undefined;
  /** The query was the name of the only tool. */
  readonly isExact: boolean;
  /** The query was empty. */
  readonly isBlank: boolean;
  /** Servers that cannot be used now, the most relevant first. */
  readonly unavailable: readonly ServerCondition[];
  /** The servers that have tools, where the search found none; else empty. */
  readonly servers: readonly string[];
}

/** How many tools have their schema where the client does not say. */
const WITH_SCHEMA = 3;
/** The size (characters of JSON) from which on no schema is added: about 2,000 tokens; where schemas were asked for, 8,000. */
const BUDGET = { usual: 8_000, schemas: 32_000 };
/** The most characters of a description where it stands without its schema. */
const MAX_LINE = 120;
const MAX_SERVERS = 20;

/**
 * The result of `find_tools`. Tools with a schema are written as the list would show them. A tool whose schema would exceed
 * the budget has a line instead, but not the first one.
 */
export function foundToolsResult(found: FoundTools, options: FoundToolsOptions): Payload {
  const { detail, isExact } = options;
  const wanted = detail === undefined && !isExact ? WITH_SCHEMA : Number.POSITIVE_INFINITY;
  let left = isExact || detail === "schema" ? BUDGET.schemas : BUDGET.usual;
  let cut = 0;
  const tools = found.entries.map((entry, at) => {
    if (detail === "name") return row(entry, "");
    const brief = row(entry, firstSentence(stringAt(entry.item, "description") ?? "", MAX_LINE));
    const isWanted = detail === "schema" || isExact || (detail === undefined && at < wanted);
    const whole = isWanted ? wholeRow(entry) : brief;
    const isFitting = at === 0 || writeJson(whole).length <= left;
    if (!isFitting) cut += 1;
    const shown = isFitting ? whole : brief;
    left -= writeJson(shown).length;
    return shown;
  });
  const next = hintFor(found, options, cut);
  const { unavailable } = options;
  const structuredContent = {
    ...{ tools, total: found.total },
    ...(unavailable.length > 0 && { unavailable }),
    ...(next !== undefined && { next }),
  };
  // The same as text for hosts that read no structured content (2025-11-25: server/tools, "Structured Content").
  return Payload.ofObject({
    content: [{ type: "text", text: writeJson(structuredContent) }],
    structuredContent,
  });
}

const row = ({ route, item }: ExposedItem, description: string): JsonObject => {
  const title = stringAt(item, "title") ?? stringAt(objectAt(item, "annotations"), "title");
  return {
    name: route.exposed,
    server: route.upstream,
    ...(title !== undefined && { title }),
    description,
  };
};

const wholeRow = (entry: ExposedItem): JsonObject => {
  const { description, inputSchema, annotations } = entry.item;
  return {
    ...row(entry, typeof description === "string" ? description : ""),
    ...(annotations !== undefined && { annotations }),
    inputSchema,
  };
};

function hintFor(
  { entries, total }: FoundTools,
  { isBlank, servers, unavailable }: FoundToolsOptions,
  cut: number,
): string | undefined {
  if (total === 0) {
    const absent = unavailable.slice(0, MAX_SERVERS).map(({ server }) => server);
    const missing =
      absent.length === 0
        ? ""
        : ` What is sought may be a tool of ${absent.join(" or ")}, which cannot be used now; see "unavailable".`;
    if (servers.length === 0) return `No server has a tool at the moment.${missing}`;
    const named = servers.slice(0, MAX_SERVERS).join(", ");
    const rest = servers.length - MAX_SERVERS;
    return `No tool matches.${missing} Try other words; the servers are ${named}${rest > 0 ? ` and ${rest} more` : ""}.`;
  }
  const hints = [
    ...(cut > 0 ? ["The exact name of a tool as query answers its schema."] : []),
    ...(total > entries.length
      ? [
          `${entries.length} of ${total}; ${isBlank ? "" : "more words, "}a "server" or a higher "limit" (${MAX_FOUND} at most) shows others.`,
        ]
      : []),
  ];
  return hints.length === 0 ? undefined : hints.join(" ");
}
