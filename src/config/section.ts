/** A section of the config file that belongs to a feature: its schema, and the settings that the feature gets. */
import type { z } from "zod";
import type { ChannelSection } from "./channel-section.js";
import type { Collision } from "./collisions.js";
import type { Config, ConfiguredServer, ListenConfig, ServerConfig } from "./config.js";
import type { ExposeOf } from "./own-names.js";
import type { FileShape } from "./schema.js";
import type { Member, Path } from "./tree.js";

/** What a feature adds to the file: a section, or a way to reach servers. */
export type Section = SettingsSection | ChannelSection;

/** One section. */
export interface SettingsSection {
  /** Whether it stands in the file, in each server, in each profile, or in each tool of `overrides`. */
  readonly of: "file" | "server" | "profile" | "tool";
  /** Its key: `audit`; or within another section, of the gateway or of a feature: `telemetry.otlp`. */
  readonly path: string;
  /** The key behind which the reference has it. Default: behind those of the gateway. */
  readonly after?: string | undefined;
  /** With its description, of which `config/reference.md` is written; the section may be absent. */
  readonly schema: z.ZodType;
  /**
   * The settings that the valid content `shape` means; relative paths start at `folder`. Undefined: the same as without the section.
   *
   * @param server whose section it is
   * @throws SectionError, or ServerConfigError in a server
   */
  complete(shape: unknown, folder: string, server: SectionServer): unknown;
  /** The settings of a server without the section; undefined if there are none. */
  completeAbsent?(server: SectionServer): unknown;
  /** Turns what hosts have for it in an entry of theirs into the section. `warn` receives what could not be carried over, by its key. */
  fromHost?(server: Map<string, Member>, warn: (key: string, at: Member, what: string) => void): void;
  /** Servers whose sections contradict each other. */
  collisions?(servers: readonly (ServerConfig | ConfiguredServer)[]): readonly Collision[];
  /**
   * The settings with globs over names as hosts see them; `expose` turns own names of the servers there into these, `exposeOf` those
   * of certain servers.
   */
  exposed(settings: unknown, expose: (pattern: string) => string, exposeOf: ExposeOf): unknown;
  /** The names that no tool of a server has with these settings, as the gateway itself has tools of these names. */
  ownTools(settings: unknown): OwnToolNames | undefined;
  /** What contradicts itself in the valid content `shape`, or the rest of the file. */
  faultsOf(shape: unknown, file: Pick<FileShape, "keys" | "auth">): readonly SectionFault[];
  /**
   * What is wrong with the settings that takes packages to find out, loaded then; the rest of the file may be wrong too. `all`: those
   * of all sections with such a check. A fault's message is about the key at its path, which it does not name.
   */
  readonly check:
    | ((settings: unknown, all: Readonly<Record<string, unknown>>) => Promise<readonly LateFault[]>)
    | undefined;
  /** What has changed in them, for the log of a reload. Default: the path, if anything has. */
  readonly changes: ((before: unknown, now: unknown) => readonly string[]) | undefined;
  /** What else the settings mean for a valid config, that may not be intended. */
  warningsOf(config: Config): readonly Omit<SectionFault, "key">[];
  /** What contradicts the listener for hosts in the settings, with what flags replace. */
  conflictsOf(settings: unknown, listen: ListenConfig): readonly SectionFault[];
  /** Why `serve` refuses to listen with these settings. */
  obstaclesOf(settings: unknown): readonly Omit<SectionFault, "key">[];
  /** The values in the settings that no log may show. */
  secretsOf(settings: unknown): readonly string[];
  /** The absolute paths of files that the settings name for the gateway alone. */
  filesOf(settings: unknown): readonly string[];
  /** When a change takes effect. */
  readonly change: "reload" | "restart";
}

/** The names of tools of the gateway itself. */
export interface OwnToolNames {
  readonly names: readonly string[];
  /** The setting that adds them. */
  readonly setting: string;
}

/** The server of a section. */
export interface SectionServer {
  readonly kind: string;
  /** The headers of its requests: of the config, and empty ones for those that hosts send. */
  readonly headers: Readonly<Record<string, string>>;
  /** Whether the gateway authenticates its hosts. */
  readonly hasPrincipals: boolean;
}

/** For sections of the file. */
export const NO_SERVER: SectionServer = { kind: "none", headers: {}, hasPrincipals: false };

/** A contradiction in a section of the file: a sentence, and the path of the key that it is about. */
export class SectionError extends Error {
  readonly path: readonly string[];
  constructor(message: string, ...path: readonly string[]) {
    super(message);
    this.path = path;
  }
}

/** The section of servers that says whose credentials their requests carry, which the gateway itself reads. */
const CREDENTIALS = "auth";

/** The settings of a section in the file or the server that has it. */
export const settingsIn = (
  { path }: SettingsSection,
  { features, auth }: Pick<Config | ConfiguredServer, "features" | "auth">,
): unknown => (path === CREDENTIALS ? auth : features[path]);

/** Something wrong with a section. */
export interface SectionFault {
  /** From the top of the file. */
  readonly path: Path;
  /** The key at this path, if the fault is that of one. */
  readonly key?: string;
  readonly message: string;
}

/** What a check finds. */
export type LateFault = Omit<SectionFault, "key">;

/** A section whose parts agree in their types. `of`. Default: the file. `exposed`. Default: unchanged. The others. Default: none. */
export function sectionOf<Schema extends z.ZodType, Settings>(section: {
  readonly of?: SettingsSection["of"];
  readonly path: string;
  readonly after?: string;
  readonly schema: Schema;
  readonly complete: (shape: z.output<Schema>, folder: string, server: SectionServer) => Settings;
  readonly completeAbsent?: (server: SectionServer) => Settings;
  readonly fromHost?: NonNullable<SettingsSection["fromHost"]>;
  readonly collisions?: NonNullable<SettingsSection["collisions"]>;
  readonly exposed?: (
    settings: Settings,
    expose: (pattern: string) => string,
    exposeOf: ExposeOf,
  ) => Settings;
  readonly ownTools?: (settings: Settings) => OwnToolNames | undefined;
  readonly faultsOf?: (
    shape: z.output<Schema>,
    file: Pick<FileShape, "keys" | "auth">,
  ) => readonly SectionFault[];
  readonly check?: (
    settings: Settings,
    all: Readonly<Record<string, unknown>>,
  ) => Promise<readonly LateFault[]>;
  readonly changes?: (before: Settings | undefined, now: Settings | undefined) => readonly string[];
  readonly warningsOf?: SettingsSection["warningsOf"];
  readonly conflictsOf?: (settings: Settings, listen: ListenConfig) => readonly SectionFault[];
  readonly obstaclesOf?: (settings: Settings) => readonly Omit<SectionFault, "key">[];
  readonly secretsOf?: (settings: Settings) => readonly string[];
  readonly filesOf?: (settings: Settings) => readonly string[];
  readonly change: "reload" | "restart";
}): SettingsSection {
  const { complete, of = "file", faultsOf = () => [], warningsOf = () => [], secretsOf = () => [] } = section;
  const { exposed = (settings) => settings, ownTools = () => undefined, check, changes } = section;
  const { conflictsOf = () => [], obstaclesOf = () => [], filesOf = () => [] } = section;
  return {
    ...section,
    check: check && ((settings, all) => check(settings as Settings, all)),
    changes:
      changes && ((before, now) => changes(before as Settings | undefined, now as Settings | undefined)),
    ...{ of, warningsOf },
    faultsOf: (shape, file) => faultsOf(shape as z.output<Schema>, file),
    complete: (shape, folder, server) => complete(shape as z.output<Schema>, folder, server),
    exposed: (settings, expose, exposeOf) => exposed(settings as Settings, expose, exposeOf),
    ownTools: (settings) => ownTools(settings as Settings),
    conflictsOf: (settings, listen) => conflictsOf(settings as Settings, listen),
    obstaclesOf: (settings) => obstaclesOf(settings as Settings),
    secretsOf: (settings) => secretsOf(settings as Settings),
    filesOf: (settings) => filesOf(settings as Settings),
  };
}

/** The ways to reach servers among `sections`. */
export const channelsOf = (sections: readonly Section[]): readonly ChannelSection[] =>
  sections.filter((section) => section.of === "channel");

/** Those of the file, or of each server, which have settings. */
export const sectionsWithin = (
  sections: readonly Section[],
  where: SettingsSection["of"],
): readonly SettingsSection[] =>
  sections.filter((section): section is SettingsSection => section.of === where);

/** `keys`, with those of sections where they want to stand; the later ones of several nearer to the key before them. */
export function inOrder<Keys extends object>(
  keys: Keys,
  sections: readonly Section[],
  where: SettingsSection["of"],
): Keys {
  const placed = sectionsWithin(sections, where).filter(({ after }) => after !== undefined);
  const entries = new Map(Object.entries(keys));
  const names = [...entries.keys()].filter((name) => !placed.some(({ path }) => path === name));
  for (const { path, after = "" } of placed) names.splice(names.indexOf(after) + 1, 0, path);
  return Object.fromEntries(names.map((name) => [name, entries.get(name)])) as Keys;
}

/** The settings of the sections that are in the file or server `shape`, keyed by path. */
export const settingsOf = (
  sections: readonly Section[],
  where: SettingsSection["of"],
  shape: unknown,
  folder: string,
  server: SectionServer = NO_SERVER,
): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    sectionsWithin(sections, where).flatMap((section) => {
      const content = contentOf(section, shape);
      const settings =
        content === undefined ? section.completeAbsent?.(server) : section.complete(content, folder, server);
      return settings === undefined ? [] : [[section.path, settings]];
    }),
  );

/** `settings` with names as hosts see them. */
export const exposedSettings = (
  sections: readonly Section[],
  where: SettingsSection["of"],
  settings: Readonly<Record<string, unknown>>,
  expose: (pattern: string) => string,
  exposeOf: ExposeOf,
): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    Object.entries(settings).map(([path, own]) => {
      const section = sectionsWithin(sections, where).find((each) => each.path === path);
      return [path, section === undefined ? own : section.exposed(own, expose, exposeOf)];
    }),
  );

/** The names of tools that the gateway has with the settings of the file, of profiles and of servers; of equal ones those of the first. */
export function ownToolNames(
  sections: readonly Section[],
  { features, profiles, servers }: Pick<Config, "features" | "profiles" | "servers">,
): readonly OwnToolNames[] {
  const holders = [
    ...sectionsWithin(sections, "file").map((section) => ({ section, of: [features] })),
    ...sectionsWithin(sections, "profile").map((section) => ({
      section,
      of: Object.values(profiles).map((profile) => profile.features),
    })),
    ...sectionsWithin(sections, "server").map((section) => ({
      section,
      of: servers.map((server): Readonly<Record<string, unknown>> => server.features),
    })),
  ];
  const found = new Map<string, OwnToolNames>();
  for (const { section, of } of holders) {
    for (const { [section.path]: settings } of of) {
      const own = settings === undefined ? undefined : section.ownTools(settings);
      const key = own?.names.join() ?? "";
      if (own !== undefined && !found.has(key)) found.set(key, own);
    }
  }
  return [...found.values()];
}

/** What is wrong with the sections that are in a file of valid shape. */
export const faultsOfSections = (sections: readonly Section[], file: FileShape): readonly SectionFault[] =>
  sectionsWithin(sections, "file").flatMap((section) => {
    const content = contentOf(section, file);
    return content === undefined ? [] : section.faultsOf(content, file);
  });

/** What may not be intended in the sections of a valid config. */
export const warningsOfSections = (
  sections: readonly Section[],
  config: Config,
): readonly Omit<SectionFault, "key">[] =>
  sectionsWithin(sections, "file").flatMap((section) =>
    config.features[section.path] === undefined ? [] : section.warningsOf(config),
  );

/** What contradicts the listener for hosts in the sections of a file. */
export const conflictsOf = (
  sections: readonly Section[],
  features: Config["features"],
  listen: ListenConfig,
): readonly SectionFault[] =>
  withSettings(sections, features).flatMap(({ section, settings }) => section.conflictsOf(settings, listen));

/** Why `serve` refuses to listen with the sections of a config. */
export const obstaclesOfSections = (
  sections: readonly Section[],
  features: Config["features"],
): readonly Omit<SectionFault, "key">[] =>
  withSettings(sections, features).flatMap(({ section, settings }) => section.obstaclesOf(settings));

/** The files that sections name for the gateway alone. */
export const filesOfSections = (
  sections: readonly Section[],
  features: Config["features"],
): readonly string[] =>
  withSettings(sections, features).flatMap(({ section, settings }) => section.filesOf(settings));

/** The sections of the file that have settings. */
const withSettings = (sections: readonly Section[], features: Config["features"]) =>
  sectionsWithin(sections, "file").flatMap((section) => {
    const { [section.path]: settings } = features;
    return settings === undefined ? [] : [{ section, settings }];
  });

/** The content of a section in a valid file or server; undefined if it is absent. */
function contentOf({ path }: SettingsSection, file: unknown): unknown {
  let content = file;
  for (const key of path.split("."))
    content = (content as Readonly<Record<string, unknown>> | undefined)?.[key];
  return content;
}
