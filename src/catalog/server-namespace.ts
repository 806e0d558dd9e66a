/** What the config says about one server's names: its prefix and which of its things are shown. */

import { LISTS, type ListKind } from "../core/lists.js";
import type { ServerForm } from "../core/tool-forms.js";
import { type NameFilter, nameMatcher, uriTest } from "../patterns/globs.js";
import { type JsonObject, stringAt } from "../wire/json.js";
import { type UriNamespace, uriNamespace } from "./naming.js";
import { type ToolOverride, ToolOverrides } from "./overrides.js";

/** Globs over names; those for resources are over URIs, and count for templates and reading too. */
export interface Filters {
  readonly tools: NameFilter;
  readonly prompts: NameFilter;
  readonly resources: NameFilter;
}

/** The part of a server's config that the catalog needs. */
export interface CatalogServer extends Filters {
  /** Its key in the config. */
  readonly name: string;
  /** "" leaves names and URIs unchanged. */
  readonly prefix: string;
  /** Tools that are shown or called otherwise than the server lists them, by its own names. */
  readonly overrides?: Readonly<Record<string, ToolOverride>>;
  /** Whether lists wait for its first start up to its connect timeout. Default: up to the limit of all servers. */
  readonly required?: boolean;
  readonly connectTimeoutMs?: number;
}

/** How the names and URIs of one server are exposed and filtered. */
export interface ServerNamespace {
  readonly name: string;
  readonly prefix: string;
  /** Undefined if URIs are exposed unchanged. */
  readonly uris: UriNamespace | undefined;
  /** The same server as the gateway as a whole shows it, where this is not that. */
  readonly aggregate?: ServerNamespace;
  /** Undefined if no tool has an override. */
  readonly overrides: ToolOverrides | undefined;
  /** The entry of a tool as hosts see it, except the name; undefined if that is the server's own entry. */
  shownTool(own: string, item: JsonObject): JsonObject | undefined;
  /** Whether the filters let something through, by the server's own name or URI. */
  passes(kind: ListKind, own: string): boolean;
  /** Whether something with that own name can be listed once the lists are known; in doubt true. */
  mayHave(kind: ListKind, own: string): boolean;
  /** False if the filters let every resource through. */
  readonly filtersResources: boolean;
}

/** The namespace of a configured server, whose tools are shown in `form`. */
export function serverNamespace(config: CatalogServer, form?: ServerForm): ServerNamespace {
  const overrides = config.overrides && new ToolOverrides(config.overrides);
  return {
    name: config.name,
    prefix: config.prefix,
    uris: uriNamespace(config.prefix),
    overrides,
    shownTool: shownTools(overrides, form),
    passes: listFilter(config),
    mayHave: possibleNames(config),
    filtersResources: !letsAllThrough(config.resources),
  };
}

/** What a filter allows may be listed under another name: of an unlisted name only what it denies is known not to be there. */
function possibleNames({ tools, prompts, resources }: Filters): ServerNamespace["mayHave"] {
  const open = ({ allow, deny }: NameFilter): NameFilter => ({
    allow: allow.length === 0 ? [] : ["*"],
    deny,
  });
  return listFilter({ tools: open(tools), prompts: open(prompts), resources: open(resources) });
}

/** Whether a filter is none. */
const letsAllThrough = ({ allow, deny }: NameFilter): boolean => allow.includes("*") && deny.length === 0;

function shownTools(
  overrides: ToolOverrides | undefined,
  form: ServerForm | undefined,
): ServerNamespace["shownTool"] {
  // List entries never change, and are shown again with every list that is merged.
  const shown = new WeakMap<JsonObject, JsonObject>();
  return (own, item) => {
    const override = overrides?.of(own);
    const entry = override?.apply(item) ?? item;
    if (form === undefined) return entry === item ? undefined : entry;
    let formed = shown.get(entry);
    if (formed === undefined) {
      formed = form(entry, override?.description === undefined);
      shown.set(entry, formed);
    }
    return formed === item ? undefined : formed;
  };
}

/** The same server with its names and URIs as they are, as `/mcp/NAME` shows it. */
export function withoutPrefix(space: ServerNamespace): ServerNamespace {
  return { ...space, prefix: "", uris: undefined, aggregate: space };
}

/** Compiles filters into one test. */
export function listFilter(filters: Filters): (kind: ListKind, name: string) => boolean {
  const resources = uriTest(filters.resources);
  const tests: Readonly<Record<ListKind, (name: string) => boolean>> = {
    tools: nameMatcher(filters.tools),
    prompts: nameMatcher(filters.prompts),
    resources,
    resourceTemplates: resources,
  };
  return (kind, name) => tests[kind](name);
}

/** The entries that can be named and that the filters let through; of two with one name the first. */
export function visibleItems(
  space: ServerNamespace,
  kind: ListKind,
  items: readonly JsonObject[],
): readonly JsonObject[] {
  const seen = new Set<string>();
  return items.filter((item) => {
    const own = stringAt(item, LISTS[kind].key);
    if (own === undefined || seen.has(own) || !space.passes(kind, own)) return false;
    seen.add(own);
    return true;
  });
}
