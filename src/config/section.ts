/** A section of the config file that belongs to a feature: its schema, and the settings that the feature gets. */
import type { z } from "zod";
import { type ChannelSection, keysOfChannels } from "./channel-section.js";
import type { Collision } from "./collisions.js";
import type { Config, ConfiguredServer, ServerConfig } from "./config.js";
import type { Member } from "./tree.js";

/** What a feature adds to the file: a section, or a way to reach servers. */
export type Section = SettingsSection | ChannelSection;

/** One section. */
interface SettingsSection {
  /** Whether it stands in the file, or in each server. */
  readonly of: "file" | "server";
  /** Its key: `audit`; or within a section of the gateway: `telemetry.otlp`. */
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
  /** The values in the settings that no log may show. */
  secretsOf(settings: unknown): readonly string[];
  /** When a change takes effect. */
  readonly change: "reload" | "restart";
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
const NO_SERVER: SectionServer = { kind: "none", headers: {}, hasPrincipals: false };

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

/** A section whose parts agree in their types. `of`. Default: the file. `secretsOf`. Default: none. */
export function sectionOf<Schema extends z.ZodType, Settings>(section: {
  readonly of?: "file" | "server";
  readonly path: string;
  readonly schema: Schema;
  readonly after?: string;
  readonly complete: (shape: z.output<Schema>, folder: string, server: SectionServer) => Settings;
  readonly completeAbsent?: (server: SectionServer) => Settings;
  readonly fromHost?: NonNullable<SettingsSection["fromHost"]>;
  readonly collisions?: NonNullable<SettingsSection["collisions"]>;
  readonly secretsOf?: (settings: Settings) => readonly string[];
  readonly change: "reload" | "restart";
}): SettingsSection {
  const { complete, of = "file", secretsOf = () => [] } = section;
  return {
    ...section,
    of,
    complete: (shape, folder, server) => complete(shape as z.output<Schema>, folder, server),
    secretsOf: (settings) => secretsOf(settings as Settings),
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

/** The sections of the gateway in which features have keys too. */
const SHARED_SECTIONS: readonly string[] = ["telemetry"];

/** What an unknown key at this place may be, as the end of its sentence: a section of a feature that is not built in. */
export const NO_SUCH_FEATURE = "; no feature of this build has such a section";
/** Whether features have keys at this place of the file; in a server an unknown key is most often that of a host. */
export const hasFeatureKeys = (at: readonly PropertyKey[]): boolean =>
  at.length === 0 || (at.length === 1 && SHARED_SECTIONS.includes(String(at[0])));

/** The keys of `sections` within the section `parent` of the gateway, or at the top, with their schemas. */
export function keysWithin(
  sections: readonly Section[],
  parent?: string,
): Readonly<Record<string, z.ZodType>> {
  const prefix = parent === undefined ? "" : `${parent}.`;
  return Object.fromEntries(
    sectionsWithin(sections, "file").flatMap(({ path, schema }) => {
      const key = path.slice(prefix.length);
      return path.startsWith(prefix) && !key.includes(".") ? [[key, schema]] : [];
    }),
  );
}

/** The keys of `sections` in any server, with their schemas. */
export const keysOfServers = (sections: readonly Section[]): Readonly<Record<string, z.ZodType>> =>
  Object.fromEntries(sectionsWithin(sections, "server").map(({ path, schema }) => [path, schema]));

/** The names of all keys of `sections` in servers. */
export const serverKeyNames = (sections: readonly Section[]): readonly string[] => [
  ...Object.keys(keysOfServers(sections)),
  ...Object.keys(keysOfChannels(channelsOf(sections))),
];

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

/** The content of a section in a valid file or server; undefined if it is absent. */
function contentOf({ path }: SettingsSection, file: unknown): unknown {
  let content = file;
  for (const key of path.split("."))
    content = (content as Readonly<Record<string, unknown>> | undefined)?.[key];
  return content;
}

/** `config` with the settings of features where their sections stand in the file. */
export function asInFile(config: Config): Readonly<Record<string, unknown>> {
  const sections = Object.entries(config.features);
  const tops = Object.fromEntries(sections.filter(([path]) => !path.includes(".")));
  const shown: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(config)) {
    if (key === "features") Object.assign(shown, tops);
    else shown[key] = key === "servers" ? config.servers.map(serverAsInFile) : value;
  }
  for (const [path, settings] of sections) {
    const [parent = "", key] = path.split(".");
    if (key !== undefined) shown[parent] = { ...(shown[parent] as object | undefined), [key]: settings };
  }
  return shown;
}

const serverAsInFile = (server: ConfiguredServer): object =>
  Object.fromEntries(
    Object.entries(server).flatMap(([key, value]) =>
      key === "features" ? Object.entries(server.features) : [[key, value]],
    ),
  );
