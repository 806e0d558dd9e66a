/** Merges the lists of several servers under exposed names, in config order, and maps their UI references. */
import type { Route } from "../core/call.js";
import type { ExposedItem } from "../core/list-transform.js";
import { LISTS, type ListKind } from "../core/lists.js";
import { isObject, type JsonObject, objectAt, stringAt, without } from "../wire/json.js";
import { writeJson } from "../wire/json-text.js";
import { exposedName, exposeUri, hashedName, type NameOwners, type Naming, NO_OWNERS } from "./naming.js";
import type { OverriddenTool } from "./overrides.js";
import type { ServerNamespace } from "./server-namespace.js";
import { Snapshot } from "./view.js";

/** The entries of one server in a list: those that can be named, each name once (see `visibleItems`). */
export interface Contribution {
  readonly space: ServerNamespace;
  readonly items: readonly JsonObject[];
}

/**
 * Merges the contributions in config order. A name belongs to the server whose prefix it has, so entries that would
 * take another server's name are named last, and get a hash ending.
 */
export function mergeLists(
  kind: ListKind,
  contributions: readonly Contribution[],
  naming: Naming,
  owners: NameOwners = NO_OWNERS,
  onRenamed?: OnRenamed,
): Snapshot {
  const { key } = LISTS[kind];
  const sources = contributions.flatMap(({ space, items }) =>
    items.map((item): Source => {
      const target = stringAt(item, key) ?? "";
      return { space, item, target, override: kind === "tools" ? space.overrides?.of(target) : undefined };
    }),
  );
  const names =
    kind === "tools" || kind === "prompts"
      ? assignNames(kind, sources, naming, owners, onRenamed)
      : undefined;
  const entries = sources.map((source): ExposedItem => {
    const { space, item, target, override } = source;
    const { exposed, unambiguousName } = names?.get(source) ?? { exposed: exposeUri(space, target) };
    const overriddenItem = kind === "tools" ? space.shownTool(target, item) : undefined;
    const configuredArguments = override?.argumentsFor(item);
    const route: Route = {
      ...{ upstream: space.name, target, exposed, kind, item },
      ...(unambiguousName !== undefined && { unambiguousName }),
      ...(overriddenItem !== undefined && { overriddenItem }),
      ...(configuredArguments !== undefined && { configuredArguments }),
    };
    return { route, item: exposeItem(space, overriddenItem ?? item, key, exposed, owners) };
  });
  return new Snapshot(kind, entries);
}

/** One entry of one server's list. */
interface Source {
  readonly space: ServerNamespace;
  readonly item: JsonObject;
  readonly target: string;
  readonly override: OverriddenTool | undefined;
}

/** An entry whose name is taken, or belongs to another server, so that it is listed with a hash ending. */
export interface Renamed {
  readonly server: string;
  /** Its own name. */
  readonly name: string;
  readonly exposed: string;
  /**
   * The server that keeps the name, the same one if two of its names collide; absent if the name is that of a tool of
   * the gateway itself.
   */
  readonly other?: string;
  /** The setting that adds the tool of the gateway. */
  readonly setting?: string;
  /** The prefix of `other` with which the name begins, whether or not `other` lists one of this name. */
  readonly start?: string;
}

/** Why it is listed so, and how to change that. */
export function renamedReason({ server, other, setting, start }: Renamed): string {
  if (start !== undefined)
    return `names that begin with ${start} are those of server ${other}; give one of the servers another "prefix"`;
  if (other === undefined)
    return `the gateway has a tool of this name (${writeJson(setting)}); give the server a "prefix"`;
  if (other === server)
    return `another of its names is exposed in the same form; "overrides" can give one of them a "name"`;
  return `server ${other} has one of this name; give one of the servers a "prefix"`;
}

type OnRenamed = (renamed: Renamed) => void;

/** The names that no server's entry of this list may have. */
const ownNames = (kind: ListKind, naming: Naming): Set<string> =>
  new Set(kind === "tools" ? naming.own?.flatMap(({ names }) => names) : []);

interface ExposedName {
  readonly exposed: string;
  /** As `Route.unambiguousName`. */
  readonly unambiguousName?: string;
}

/** The names of all servers; names with only their own prefix come first, so that no other server takes one. */
function assignNames(
  kind: ListKind,
  sources: readonly Source[],
  naming: Naming,
  owners: NameOwners,
  onRenamed: OnRenamed | undefined,
): ReadonlyMap<Source, ExposedName> {
  const names = new Map<Source, ExposedName>();
  const taken = ownNames(kind, naming);
  const serverOf = onRenamed === undefined ? undefined : new Map<string, string>();
  const foreign: Source[] = [];
  for (const source of sources) {
    const { space, target, override } = source;
    const name = override?.name ?? target;
    const plain = exposedName(space.prefix, name, naming);
    if (owners.isForeign(space.name, plain)) {
      foreign.push(source);
      continue;
    }
    const exposed = taken.has(plain) ? uniqueName(space.prefix, name, naming, taken, 1) : plain;
    if (serverOf !== undefined) {
      if (plain !== exposed) {
        const other = serverOf.get(plain);
        const renamed = { server: space.name, name, exposed };
        const setting = naming.own?.find(({ names: own }) => own.includes(plain))?.setting ?? "";
        onRenamed?.(other === undefined ? { ...renamed, setting } : { ...renamed, other });
      }
      serverOf.set(exposed, space.name);
    }
    taken.add(exposed);
    names.set(source, { exposed });
  }
  for (const source of foreign) {
    const { space, target, override } = source;
    const exposed = uniqueName(space.prefix, override?.name ?? target, naming, taken, 1);
    taken.add(exposed);
    if (onRenamed !== undefined) {
      const owner = owners.ownerOf(exposedName(space.prefix, override?.name ?? target, naming));
      if (owner !== undefined) {
        const { server: other, namePrefix: start } = owner;
        onRenamed({ server: space.name, name: override?.name ?? target, exposed, other, start });
      }
    }
    const unambiguousName = owners.unambiguousName(space.name, exposed);
    names.set(source, unambiguousName === exposed ? { exposed } : { exposed, unambiguousName });
  }
  return names;
}

/**
 * The part of the whole that belongs to `space`, under its own names and in its own order. Cut from the whole, so that
 * each route has its exposed name.
 */
export function withOwnNames(whole: Snapshot, space: ServerNamespace, naming: Naming): Snapshot {
  const { key } = LISTS[whole.kind];
  const overrides = whole.kind === "tools" ? space.overrides : undefined;
  const taken = ownNames(whole.kind, naming);
  const entries = whole.entries.flatMap(({ route }): readonly ExposedItem[] => {
    const { upstream, target, item, overriddenItem } = route;
    if (upstream !== space.name || item === undefined) return [];
    // A server's own names are unique; a configured replacement may collide with another name.
    const name =
      overrides === undefined && taken.size === 0
        ? target
        : uniqueName("", overrides?.of(target)?.name ?? target, naming, taken);
    if (overrides !== undefined) taken.add(name);
    const own: Route = {
      ...route,
      exposed: name,
      ...(route.exposed !== name && { aggregateName: route.exposed }),
    };
    return [{ route: own, item: exposeItem(space, overriddenItem ?? item, key, name) }];
  });
  return new Snapshot(whole.kind, entries);
}

/**
 * The part of a list that `keep` lets through; the same list if that is all of it. References to pages that `readable`
 * rejects (by exposed URI) are removed.
 */
export function subset(
  list: Snapshot,
  keep: (route: Route) => boolean,
  readable: (exposedUri: string) => boolean,
): Snapshot {
  let changed = false;
  const entries: ExposedItem[] = [];
  for (const entry of list.entries) {
    const item = keep(entry.route)
      ? mapUiReferences(entry.item, (uri) => (readable(uri) ? uri : undefined))
      : undefined;
    changed ||= item !== entry.item;
    if (item !== undefined) entries.push(item === entry.item ? entry : { ...entry, item });
  }
  return changed ? new Snapshot(list.kind, entries) : list;
}

/** References to filtered pages, or that would lead to another server, are removed. */
function exposeItem(
  space: ServerNamespace,
  item: JsonObject,
  key: string,
  exposed: string,
  owners: NameOwners = NO_OWNERS,
): JsonObject {
  const named = item[key] === exposed ? item : { ...item, [key]: exposed };
  return mapUiReferences(named, (own) => {
    const uri = exposeUri(space, own);
    return space.passes("resources", own) && !owners.isForeignUri(space.name, uri) ? uri : undefined;
  });
}

/**
 * The later of two colliding names gets the hash ending, so only the order decides.
 * @param attempt the first attempt; 0 if the name may stay without a hash ending
 */
function uniqueName(
  prefix: string,
  own: string,
  naming: Naming,
  taken: ReadonlySet<string>,
  attempt = 0,
): string {
  const name = attempt === 0 ? exposedName(prefix, own, naming) : hashedName(prefix, own, naming, attempt);
  return taken.has(name) ? uniqueName(prefix, own, naming, taken, attempt + 1) : name;
}

/** MCP Apps 2026-01-26 names it in `ui.resourceUri`; the flat keys are its predecessors that hosts still read. */
const FLAT_KEYS = ["ui/resourceUri", "openai/outputTemplate"] as const;

/** JSON text without any of these has no reference. They are the ends of keys: a slash may be written as `\/`. */
export const UI_MARKERS = ['resourceUri"', 'outputTemplate"'] as const;

/** Returns the replacement URI; undefined removes the reference. */
export type UriMap = (uri: string) => string | undefined;

/** `holder` (a tool, a result) with the references in its `_meta` mapped; the same object if nothing changes. */
export function mapUiReferences(holder: JsonObject, map: UriMap): JsonObject {
  const meta = objectAt(holder, "_meta");
  if (meta === undefined) return holder;
  let mapped = meta;
  for (const key of FLAT_KEYS) mapped = mapKey(mapped, key, map);
  const ui = objectAt(mapped, "ui");
  if (ui !== undefined) {
    const mappedUi = mapKey(ui, "resourceUri", map);
    if (mappedUi !== ui) mapped = { ...mapped, ui: mappedUi };
  }
  return mapped === meta ? holder : { ...holder, _meta: mapped };
}

/** `object` with the string at `key` mapped; the same object if there is none or it stays. */
export function mapKey(object: JsonObject, key: string, map: UriMap): JsonObject {
  const uri = stringAt(object, key);
  if (uri === undefined) return object;
  const mapped = map(uri);
  if (mapped === uri) return object;
  return mapped === undefined ? without(object, [key]) : { ...object, [key]: mapped };
}

/** `object` with the array at `key` mapped item by item; the same object if nothing changes. */
export function mapItems(object: JsonObject, key: string, map: (item: JsonObject) => JsonObject): JsonObject {
  const items = Object.hasOwn(object, key) ? object[key] : undefined;
  if (!Array.isArray(items)) return object;
  let changed = false;
  const mapped = items.map((item: unknown) => {
    if (!isObject(item)) return item;
    const next = map(item);
    changed ||= next !== item;
    return next;
  });
  return changed ? { ...object, [key]: mapped } : object;
}
