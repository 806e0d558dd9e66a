/** The definitions of servers that are scanned: those of a running gateway, or those in a file. */
import { LIST_KINDS, LISTS, type ListKind } from "../../core/lists.js";
import type { ServerFacts } from "../../core/upstream.js";
import { isObject, type JsonObject, stringAt } from "../../wire/json.js";
import type { Definition } from "./finding.js";

/** What servers list under their own names. */
interface ListSource {
  ownLists(server: string, kind: ListKind): readonly (readonly JsonObject[])[];
  facts(server: string): ServerFacts | undefined;
}

/** What a gateway knows of its servers. */
export interface KnownServers {
  readonly catalog: Pick<ListSource, "ownLists">;
  readonly servers: ReadonlyMap<string, { readonly upstream: { readonly facts: ServerFacts | undefined } }>;
}

/** Everything that the servers of a gateway have sent, whatever hosts see of it. */
export const knownDefinitions = ({ catalog, servers }: KnownServers): readonly Definition[] =>
  definitionsOf(servers.keys(), {
    ownLists: (server, kind) => catalog.ownLists(server, kind),
    facts: (server) => servers.get(server)?.upstream.facts,
  });

/** Each definition once. */
function definitionsOf(servers: Iterable<string>, source: ListSource): readonly Definition[] {
  const found: Definition[] = [];
  for (const server of servers) {
    for (const kind of LIST_KINDS) {
      // Classes of clients may see different entries of one name.
      const items = new Set(source.ownLists(server, kind).flat());
      for (const item of items) found.push(definitionOf(server, kind, item));
    }
    const facts = source.facts(server);
    if (facts?.instructions !== undefined)
      found.push({ server, kind: "server", name: server, item: { instructions: facts.instructions } });
  }
  return found;
}

/** An entry of a list. */
export const definitionOf = (server: string, kind: ListKind, item: JsonObject): Definition => ({
  ...{ server, kind, item },
  name: stringAt(item, LISTS[kind].key) ?? stringAt(item, "name") ?? "",
});

/** A file that has no definitions. */
export class NoDefinitions extends Error {}

/**
 * The definitions in a JSON document: a list of tools, a result of `tools/list` and its like, or an object of servers, each with
 * its lists, such as the `servers` of `cardea.lock`.
 *
 * @param server of a document without servers
 * @throws NoDefinitions for any other document
 */
export function definitionsIn(json: unknown, server: string): readonly Definition[] {
  if (Array.isArray(json)) return ofList(json, server, "tools");
  if (!isObject(json)) throw new NoDefinitions("a list or an object was expected");
  const own = ofServer(json, server);
  if (own.length > 0) return own;
  const result = isObject(json.result) ? ofServer(json.result, server) : [];
  if (result.length > 0) return result;
  const servers = isObject(json.servers) ? json.servers : json;
  const found = Object.entries(servers).flatMap(([name, lists]) => ofAny(lists, name));
  if (found.length === 0) throw new NoDefinitions("it has no tools, prompts or resources");
  return found;
}

const ofAny = (lists: unknown, server: string): readonly Definition[] =>
  Array.isArray(lists) ? ofList(lists, server, "tools") : isObject(lists) ? ofServer(lists, server) : [];

function ofServer(lists: JsonObject, server: string): readonly Definition[] {
  const { instructions } = lists;
  const found = LIST_KINDS.flatMap((kind) => {
    const { [kind]: items = kind === "resourceTemplates" ? lists.templates : undefined } = lists;
    if (Array.isArray(items)) return ofList(items, server, kind);
    return isObject(items)
      ? Object.entries(items).flatMap(([name, item]) => named(name, item, server, kind))
      : [];
  });
  if (typeof instructions === "string")
    return [...found, { server, kind: "server", name: server, item: { instructions } }];
  return found;
}

const ofList = (items: readonly unknown[], server: string, kind: ListKind): readonly Definition[] =>
  items.flatMap((item) =>
    isObject(item) ? [definitionOf(stringAt(item, "server") ?? server, kind, item)] : [],
  );

/** An item by its name, as the lock has it: itself, or as its `definition`. */
function named(name: string, value: unknown, server: string, kind: ListKind): readonly Definition[] {
  if (!isObject(value)) return [];
  const item = isObject(value.definition) ? value.definition : value;
  const { [LISTS[kind].key]: own = name } = item;
  return [definitionOf(server, kind, { ...item, [LISTS[kind].key]: own })];
}
