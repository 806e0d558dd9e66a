/** `cardea list`: prints what a host will see, and from which server. */
import { closest } from "../config/closest.js";
import type { CallOutlook } from "../core/call-policy.js";
import { SERVER_NAME } from "../core/gateway-api.js";
import type { ListKind } from "../core/lists.js";
import { type CliList, UnknownEndpoint } from "../gateway/views/cli-calls.js";
import { unknownPrincipal } from "../gateway/views/explain.js";
import { type JsonObject, stringAt } from "../wire/json.js";
import { writeJson } from "../wire/json-text.js";
import { type CommandContext, write } from "./command-context.js";
import { EXIT, UsageError } from "./exit.js";
import {
  type AsFlags,
  type ConfigFlags,
  type GatewayFlags,
  isFlagSet,
  isHost,
  type JsonFlag,
  principalFromFlags,
  textFlag,
  wantsJson,
  type YesFlag,
} from "./flags.js";
import { widthOf } from "./table.js";
import { firstLine, terminalSafe } from "./terminal-safe.js";
import { progressTo, warnMissing, withGateway } from "./with-gateway.js";

const KINDS: Readonly<Record<string, ListKind>> = {
  tools: "tools",
  prompts: "prompts",
  resources: "resources",
  templates: "resourceTemplates",
};

/** Claude and VS Code prepend this to a name when the gateway is called `cardea`; their limit is 64. */
const MAX_NAME_LENGTH = 64 - "mcp__cardea__".length;

/** The list to print, and its filter. */
export interface ListFlags {
  readonly at?: string;
  readonly all?: boolean;
}

/** Prints the merged lists. Returns the exit code. */
export async function list(
  word: string | undefined,
  flags: ConfigFlags & JsonFlag & AsFlags & GatewayFlags & YesFlag & ListFlags,
  shell: CommandContext,
): Promise<number> {
  if (word !== undefined && !Object.hasOwn(KINDS, word)) {
    const near = closest(word, Object.keys(KINDS));
    const hint =
      near === undefined ? `choose one of ${Object.keys(KINDS).join(", ")}` : `did you mean ${near}?`;
    throw new UsageError(`there is no list of ${writeJson(word)}; ${hint}`);
  }
  const json = wantsJson(flags, shell.env);
  const words = word === undefined ? Object.keys(KINDS) : [word];
  const principal = principalFromFlags(flags, shell.env);
  const as = isHost(principal) ? undefined : principal;
  const { text: at } = textFlag(flags.at, "at", shell.env);
  const all = isFlagSet(flags.all, "CARDEA_ALL", shell.env) || undefined;
  const query = { as, at, all };
  return withGateway({ flags, shell, startsAll: true }, async (gateway, log, config) => {
    const unknown =
      as === undefined || config === undefined ? undefined : unknownPrincipal(as.as, config.auth);
    if (unknown !== undefined) log.warn({}, unknown);
    const lists = new Map<string, CliList>();
    for (const each of words) {
      const kind = KINDS[each];
      const onServer = lists.size === 0 ? progressTo(log) : undefined;
      if (kind !== undefined) lists.set(each, await gateway.lists(kind, query, onServer).catch(asUsageError));
    }
    await write(shell.stdout, json ? asJson(lists, word) : asText(lists, widthOf(shell.stdout)));
    const { shortLists } = shell.features.find((feature) => feature.shortLists !== undefined) ?? {};
    if (shortLists !== undefined && hasOwnTools(lists.get("tools"))) {
      const found = (await gateway.lists("tools", { ...query, all: true })).length;
      log.info({ tools: found }, shortLists.hint(found));
    }
    const long = (lists.get("tools") ?? []).filter(
      ({ item }) => nameOf(item).length > MAX_NAME_LENGTH,
    ).length;
    if (long > 0) {
      log.warn(
        { tools: long },
        `${long === 1 ? "1 tool name is" : `${long} tool names are`} over ${MAX_NAME_LENGTH} characters; hosts that put mcp__cardea__ before them stop at 64`,
      );
    }
    return warnMissing(log, await gateway.missing()) ? EXIT.failed : EXIT.done;
  });
}

/** Whether a list has the gateway's own tools. */
const hasOwnTools = (tools: CliList | undefined): boolean =>
  tools?.some(({ server }) => server === "") === true;

function asUsageError(error: unknown): never {
  throw error instanceof UnknownEndpoint ? new UsageError(error.message, { cause: error }) : error;
}

/** One list is an array; all of them are an object of arrays. */
function asJson(lists: ReadonlyMap<string, CliList>, word: string | undefined): string {
  const rows = [...lists].map(([kind, entries]): [string, unknown] => [
    kind,
    entries.map(({ server, item, calls }) => ({
      ...item,
      server: ownerOf(server),
      ...(calls !== undefined && { calls }),
    })),
  ]);
  return `${writeJson(word === undefined ? Object.fromEntries(rows) : rows[0]?.[1], 2)}\n`;
}

/** `width`: of the terminal, where the names come first, and of the rest what there is room for. */
function asText(lists: ReadonlyMap<string, CliList>, width = Number.POSITIVE_INFINITY): string {
  const blocks = [...lists].map(([kind, entries]) => {
    const title = `${kind} (${entries.length})`;
    const names = entries.map(({ item }) => terminalSafe(nameOf(item)));
    const wide = Math.min(60, Math.max(0, ...names.map((name) => name.length)));
    const lines = entries.map(({ server, item, calls }, index) => {
      const description = firstLine(stringAt(item, "description") ?? stringAt(item, "title") ?? "", 60);
      const about = calls === undefined ? description : `${MARKS[calls.effect]}  ${description}`;
      const name = firstLine(names[index] ?? "", width - 2).padEnd(wide);
      const left = width - name.length - 4;
      const rest = left < 8 ? "" : firstLine(`[${terminalSafe(ownerOf(server))}]  ${about}`, left);
      return `  ${name}  ${rest}`.trimEnd();
    });
    return [title, ...lines].join("\n");
  });
  return `${blocks.join("\n\n")}\n`;
}

/** What becomes of calls. */
const MARKS: Readonly<Record<CallOutlook["effect"], string>> = {
  allow: "",
  deny: "(refused)",
  approve: "(needs approval)",
  depends: "(depends on arguments)",
};

/** The gateway's own tools have no server. */
const ownerOf = (server: string): string => (server === "" ? SERVER_NAME : server);

const nameOf = (item: JsonObject): string =>
  stringAt(item, "uri") ?? stringAt(item, "uriTemplate") ?? stringAt(item, "name") ?? "";
