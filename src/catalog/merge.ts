/** Puts the lists of several servers together under exposed names, in the order of the config. */
import type { Route } from "../core/call.js";
import type { ListKind } from "../core/upstream.js";
import type { JsonObject } from "../wire/json.js";
import { stringAt } from "../wire/json.js";
import { contestedName, exposedName, type Naming } from "./naming.js";
import type { ServerSpace } from "./server-space.js";
import { type ExposedItem, LIST_MEMBERS, Snapshot } from "./snapshot.js";
import { mapUiReferences } from "./ui-references.js";

/** What one server adds to a list: entries that can be named, each name once (see `shownItems`). */
export interface Contribution {
  readonly space: ServerSpace;
  readonly items: readonly JsonObject[];
}

/** Merges the contributions, which come in the order of the config. */
export function mergeLists(kind: ListKind, contributions: readonly Contribution[], naming: Naming): Snapshot {
  const names = kind === "tools" || kind === "prompts";
  const taken = new Set<string>();
  const entries: ExposedItem[] = [];
  for (const { space, items } of contributions) {
    for (const item of items) {
      const key = LIST_MEMBERS[kind].key;
      const target = stringAt(item, key) ?? "";
      const override = kind === "tools" ? space.overrides?.of(target) : undefined;
      const name = override?.name ?? target;
      const exposed = names ? freeName(space.prefix, name, naming, taken) : exposeUri(space, target);
      taken.add(exposed);
      const shown = override?.show(item);
      const given = override?.given;
      const route: Route = {
        ...{ upstream: space.name, target, exposed, kind, item },
        ...(shown !== undefined && { shown }),
        ...(given !== undefined && { given }),
      };
      entries.push({ route, item: exposeItem(space, shown ?? item, key, exposed) });
    }
  }
  return new Snapshot(kind, entries);
}

/**
 * The part of the whole that is `space`'s, under its own names and in its own order. Cut out of the whole, so
 * that each route knows exactly what the whole calls it.
 */
export function underOwnNames(whole: Snapshot, space: ServerSpace, naming: Naming): Snapshot {
  const { key } = LIST_MEMBERS[whole.kind];
  const overrides = whole.kind === "tools" ? space.overrides : undefined;
  const taken = new Set<string>();
  const entries = whole.entries.flatMap(({ route }): readonly ExposedItem[] => {
    const { upstream, target, item, shown } = route;
    if (upstream !== space.name || item === undefined) return [];
    // A server's own names differ; what the config puts in the place of one may be another's.
    const name =
      overrides === undefined ? target : freeName("", overrides.of(target)?.name ?? target, naming, taken);
    taken.add(name);
    const own: Route = { ...route, exposed: name, ...(route.exposed !== name && { whole: route.exposed }) };
    return [{ route: own, item: exposeItem(space, shown ?? item, key, name) }];
  });
  return new Snapshot(whole.kind, entries);
}

/**
 * The part of a list that `keep` lets through; the very same list where that is all of it. References to
 * pages that `readable` does not let through (by exposed URI) are taken out of what stays.
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

function exposeItem(space: ServerSpace, item: JsonObject, key: string, exposed: string): JsonObject {
  const named = item[key] === exposed ? item : { ...item, [key]: exposed };
  return mapUiReferences(named, (uri) =>
    space.passes("resources", uri) ? exposeUri(space, uri) : undefined,
  );
}

/** The URI under which `space` shows its resource `own`. */
export const exposeUri = (space: ServerSpace, own: string): string => space.uris?.expose(own) ?? own;

/** The later of two that would meet gets the hash ending, so order decides and nothing else. */
function freeName(prefix: string, own: string, naming: Naming, taken: ReadonlySet<string>): string {
  let name = exposedName(prefix, own, naming);
  for (let attempt = 1; taken.has(name); attempt++) name = contestedName(prefix, own, naming, attempt);
  return name;
}
