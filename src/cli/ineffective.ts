/** Finds filters, overrides, settings of features and profiles that match nothing, for `cardea doctor`. */
import { mergeLists, type Renamed, renamedReason } from "../catalog/merge.js";
import { NameOwners } from "../catalog/naming.js";
import { serverNamespace, visibleItems } from "../catalog/server-namespace.js";
import type { Advice } from "../config/advice.js";
import { closest } from "../config/closest.js";
import type { Config, ConfiguredServer, NameFilter } from "../config/config.js";
import { canBeginWith, exposedStarts, nearestName } from "../config/own-names.js";
import { argumentNames } from "../core/argument-names.js";
import type { Route } from "../core/call.js";
import { LISTS, type ListKind } from "../core/lists.js";
import { glob } from "../patterns/globs.js";
import { type JsonObject, objectAt, stringAt } from "../wire/json.js";
import { writeJson } from "../wire/json-text.js";
import type { ExposedNames, Feature } from "./feature.js";

/** The lists of a server, by its own names. */
export type ListedEntries = Readonly<Record<ListKind, readonly JsonObject[]>>;

/** Kinds whose lists are complete; resources can be read without being listed. */
const NAMED_KINDS = ["tools", "prompts"] as const;

type NamedKind = (typeof NAMED_KINDS)[number];
type Found = Pick<Advice, "path" | "message">;

/**
 * Advice with its position in the config. A server missing from `listed` could not be read, and its entries are not
 * checked.
 */
export async function ineffectiveSettings(
  config: Config,
  listed: ReadonlyMap<string, ListedEntries>,
  features: readonly Feature[],
): Promise<readonly Advice[]> {
  const renamed: (Renamed & { readonly kind: NamedKind })[] = [];
  const routes = NAMED_KINDS.flatMap((kind) =>
    exposedRoutes(config, listed, kind, (one) => {
      // The server's own report names those that begin with another's prefix.
      if (one.start === undefined) renamed.push({ ...one, kind });
    }),
  );
  const listing: Listing = { config, listed, routes };
  const names: ExposedNames = {
    routes,
    isRead: (server) => listed.has(server),
    deadName: (pattern, kind, servers) => deadName(pattern, kind, servers, listing),
  };
  const ofFeatures = await Promise.all(
    features.map(async (feature) => (await feature.ineffective?.(config, names)) ?? []),
  );
  return [
    ...config.servers.flatMap((server) => {
      const entries = listed.get(server.name);
      const found =
        entries === undefined ? [] : [...deadFilters(server, entries), ...deadOverrides(server, entries)];
      return found.map((advice) => ({ ...advice, server: server.name }));
    }),
    ...renamed.map((one) => ({
      server: one.server,
      path: one.other === one.server ? [] : ["prefix"],
      message: `its ${LISTS[one.kind].noun} ${writeJson(one.name)} is listed as ${one.exposed}: ${renamedReason(one)}`,
    })),
    ...ofFeatures.flat(),
    ...Object.entries(config.profiles).flatMap(([name, profile]) =>
      NAMED_KINDS.flatMap((kind) =>
        deadGlobs(profile[kind], ["profiles", name, kind], (pattern) =>
          deadName(pattern, kind, profile.servers, listing),
        ),
      ),
    ),
  ];
}

interface Listing {
  readonly config: Config;
  readonly listed: ReadonlyMap<string, ListedEntries>;
  /** Of all tools and prompts, after filters. */
  readonly routes: readonly Route[];
}

/** As exposed by the catalog. */
function exposedRoutes(
  { servers, naming }: Config,
  listed: ReadonlyMap<string, ListedEntries>,
  kind: NamedKind,
  onRenamed: (renamed: Renamed) => void,
): readonly Route[] {
  const contributions = servers.map((server) => {
    const space = serverNamespace(server);
    return { space, items: visibleItems(space, kind, listed.get(server.name)?.[kind] ?? []) };
  });
  const owners = new NameOwners(servers, naming.reserved ?? [], naming);
  return mergeLists(kind, contributions, naming, owners, onRenamed).entries.map(({ route }) => route);
}

const ownNames = (entries: ListedEntries, kind: NamedKind): readonly string[] =>
  entries[kind].flatMap((item) => stringAt(item, "name") ?? []);

function deadFilters(server: ConfiguredServer, entries: ListedEntries): readonly Found[] {
  return NAMED_KINDS.flatMap((kind) => {
    const names = ownNames(entries, kind);
    const { noun } = LISTS[kind];
    return deadGlobs(server[kind], [kind], (pattern) =>
      names.some(glob(pattern))
        ? undefined
        : names.length === 0
          ? `the server lists no ${noun}s`
          : `no ${noun} of the server has a name like this${hint(writtenAs(pattern), names)}`,
    );
  });
}

function deadOverrides({ overrides = {} }: ConfiguredServer, entries: ListedEntries): readonly Found[] {
  const names = ownNames(entries, "tools");
  // An override may have two keys, with and without the prefix; the first is the one in the file.
  const written = new Map(
    Object.entries(overrides)
      .toReversed()
      .map(([key, override]) => [override, key]),
  );
  return [...written].toReversed().flatMap(([override, key]): readonly Found[] => {
    const tool = entries.tools.find((item) => overrides[stringAt(item, "name") ?? ""] === override);
    if (tool === undefined) {
      const message = `the server lists no tool ${writeJson(key)}${hint(key, names)}`;
      return [{ path: ["overrides", key], message }];
    }
    const properties = objectAt(objectAt(tool, "inputSchema"), "properties");
    if (properties === undefined) return [];
    const known = [...Object.keys(properties), ...Object.values(argumentNames(tool) ?? {})];
    return (["fixed", "defaults"] as const).flatMap((way) =>
      Object.keys(override.arguments?.[way] ?? {})
        .filter((name) => !known.includes(name))
        .map((name) => ({
          path: ["overrides", key, "arguments", way, name],
          message: `the tool ${writeJson(key)} takes no argument ${writeJson(name)}${hint(name, known)}`,
        })),
    );
  });
}

function deadName(
  pattern: string,
  kind: NamedKind,
  meant: readonly string[],
  { config, listed, routes }: Listing,
): string | undefined {
  const theirs = routes.filter((route) => route.kind === kind && meant.includes(route.upstream));
  const names = theirs.map((route) => route.exposed);
  if (names.some(glob(pattern))) return undefined;
  // It may be a name of a server that could not be read.
  const unread = config.servers.filter(({ name }) => meant.includes(name) && !listed.has(name));
  const mayBeTheirs =
    unread.some(({ prefix }) => prefix === "") ||
    exposedStarts(unread, config.naming).some((start) => canBeginWith(pattern, start));
  if (mayBeTheirs) return undefined;
  const own = theirs.find((route) => route.target === pattern);
  const better =
    own === undefined
      ? hint(pattern, names, nearestPrefix(pattern, meant, config))
      : `; did you mean ${own.exposed}?`;
  return `no ${LISTS[kind].noun} is exposed under a name like this${better}`;
}

/** The pattern with the most similar prefix, if no server of `meant` has its own. */
function nearestPrefix(
  pattern: string,
  meant: readonly string[],
  { servers, naming }: Config,
): string | undefined {
  const starts = exposedStarts(
    servers.filter(({ name, prefix }) => prefix !== "" && meant.includes(name)),
    naming,
  );
  if (starts.some((start) => canBeginWith(pattern, start))) return undefined;
  return nearestName(pattern, starts, naming.separator);
}

function deadGlobs(
  { allow, deny }: NameFilter,
  path: Advice["path"],
  why: (pattern: string) => string | undefined,
): readonly Found[] {
  const dead = (way: "allow" | "deny", patterns: readonly string[]) =>
    patterns.flatMap((pattern, at): readonly Found[] => {
      const message = pattern === "*" ? undefined : why(pattern);
      return message === undefined ? [] : [{ path: [...path, way, at], message }];
    });
  return [...dead("allow", allow), ...dead("deny", deny)];
}

/** A filter glob in its exposed form, if the file has that: see config/own-names.ts. */
const writtenAs = (pattern: string): string => pattern.replace(/^\{[^{},]+,\}/, "");

/** The most similar name; or `guess` if it matches one; or some existing names. */
function hint(pattern: string, names: readonly string[], guess?: string): string {
  const near =
    closest(pattern.replace(/[*?{},]/g, ""), names) ??
    (guess !== undefined && names.some(glob(guess)) ? guess : undefined);
  if (near !== undefined) return `; did you mean ${near}?`;
  const some = names.slice(0, 3);
  return some.length === 0 ? "" : `; there is ${some.join(", ")}${names.length > some.length ? " …" : ""}`;
}
