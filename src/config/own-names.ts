/**
 * Own names and exposed names. Filters and overrides of a server use its own names, profiles and sections of features exposed
 * names; this converts the other form, if it is unambiguous.
 */
import { closest } from "./closest.js";
import { namePrefix, uriPrefix } from "./collisions.js";
import type { Config, ConfiguredServer, NameFilter, ProfileConfig, ServerConfig } from "./config.js";
import { exposedSettings, type Section } from "./section.js";

type Naming = Config["naming"];
type Prefixed = Pick<ServerConfig, "name" | "prefix">;

/** The servers, and how names are made. */
export interface NamingContext {
  readonly servers: readonly Prefixed[];
  readonly naming: Naming;
}

/** The filters of a server, whose globs may also begin with the server's prefix: `files__read_*` is `read_*` too. */
export function acceptExposedNames<T extends ConfiguredServer>(server: T, naming: Naming): T {
  if (server.prefix === "") return server;
  const names = namePrefix(server.prefix, naming);
  const uris = `${uriPrefix(server.prefix)}+`;
  return {
    ...server,
    tools: mapFilter(server.tools, (pattern) => withOrWithout(pattern, names)),
    prompts: mapFilter(server.prompts, (pattern) => withOrWithout(pattern, names)),
    resources: mapFilter(server.resources, (pattern) => withOrWithout(pattern, uris)),
    ...(server.overrides !== undefined && { overrides: withOwnKeys(server.overrides, names) }),
  };
}

/** Overrides that also have, for each key with the prefix, the same override under the own name. */
function withOwnKeys(
  overrides: NonNullable<ServerConfig["overrides"]>,
  start: string,
): NonNullable<ServerConfig["overrides"]> {
  const aliases = Object.entries(overrides)
    .filter(([key]) => key.startsWith(start) && key.length > start.length)
    .map(([key, override]) => [key.slice(start.length), override] as const)
    .filter(([own]) => !Object.hasOwn(overrides, own));
  return aliases.length === 0 ? overrides : { ...overrides, ...Object.fromEntries(aliases) };
}

/** Turns own names of servers into exposed ones; see `exposeOf`. */
export type ExposeOf = (servers: readonly string[] | undefined) => ((pattern: string) => string) | undefined;

/**
 * How a glob over names of these servers reads with names as hosts see them: an own name is one that no exposed name begins like.
 * Without servers the only one there is; undefined where one of them is not known, as a glob over servers may match others later.
 */
const exposeOf =
  (context: NamingContext): ExposeOf =>
  (names) => {
    const { servers } = context;
    const named = names?.map((name) => servers.find((server) => server.name === name));
    const meant = named === undefined ? (servers.length === 1 ? servers : []) : named;
    const known = meant.filter((server) => server !== undefined);
    return known.length === 0 || known.length < meant.length ? undefined : exposer(known, context);
  };

/** A profile, with own names in its filters as hosts see them: those of its servers. */
export function exposeProfile(
  profile: ProfileConfig,
  context: NamingContext,
  sections: readonly Section[],
): ProfileConfig {
  const shown = context.servers.filter(({ name }) => profile.servers.includes(name));
  if (shown.length === 0) return profile;
  const expose = exposer(shown, context);
  return {
    ...profile,
    tools: mapFilter(profile.tools, expose),
    prompts: mapFilter(profile.prompts, expose),
    features: exposedSettings(sections, "profile", profile.features, expose, exposeOf(context)),
  };
}

/** The settings of features in a file, with own names as hosts see them. */
export function exposeSettings(
  settings: Config["features"],
  context: NamingContext,
  sections: readonly Section[],
): Config["features"] {
  if (context.servers.length === 0) return settings;
  return exposedSettings(sections, "file", settings, exposer(context.servers, context), exposeOf(context));
}

/** Whether a name that begins with `start` can match the glob. */
export function canBeginWith(pattern: string, start: string): boolean {
  const wild = pattern.search(/[*?{]/);
  const stem = wild === -1 ? pattern : pattern.slice(0, wild);
  return stem.startsWith(start) || (wild !== -1 && start.startsWith(stem));
}

/** What the names of servers begin with; a longer prefix is cut. */
export const exposedStarts = (servers: readonly Prefixed[], naming: Naming): readonly string[] =>
  servers.map(({ prefix }) => namePrefix(prefix, naming).slice(0, naming.maxLength - 9));

function exposer(
  meant: readonly Prefixed[],
  { servers, naming }: NamingContext,
): (pattern: string) => string {
  // Servers without a prefix have any names.
  if (meant.some(({ prefix }) => prefix === "")) return (pattern) => pattern;
  const starts = exposedStarts(meant, naming);
  const all = exposedStarts(
    servers.filter(({ prefix }) => prefix !== ""),
    naming,
  );
  const prefix = starts.length === 1 ? (starts[0] ?? "") : `{${starts.join(",")}}`;
  const { separator } = naming;
  return (pattern) => {
    // With a separator in it, it is meant as an exposed name, if of a server that is not there.
    const isExposed =
      (separator.length > 1 && pattern.includes(separator)) ||
      [...starts, ...all].some((start) => pattern.startsWith(start)) ||
      starts.some((start) => canBeginWith(pattern, start));
    // In an exposed name all other characters are replaced; those of globs stay.
    return isExposed ? pattern : prefix + pattern.replace(/[^A-Za-z0-9_*?{},-]/gu, "_");
  };
}

const mapFilter = ({ allow, deny }: NameFilter, change: (pattern: string) => string): NameFilter => ({
  allow: allow.map(change),
  deny: deny.map(change),
});

const withOrWithout = (pattern: string, start: string): string =>
  pattern.startsWith(start) && pattern.length > start.length
    ? `{${start},}${pattern.slice(start.length)}`
    : pattern;

/** The pattern with the prefix that is nearest to its own; with the only one where it has none. */
export function nearestName(
  pattern: string,
  names: readonly string[],
  separator: string,
): string | undefined {
  const at = pattern.indexOf(separator);
  const [only, second] = names;
  if (at === -1) return second === undefined && only !== undefined ? only + pattern : undefined;
  const start = closest(pattern.slice(0, at + separator.length), names);
  return start === undefined ? undefined : start + pattern.slice(at + separator.length);
}
