/** Turns the text of a config file into a complete config, or into all of its problems. */

import { createHash } from "node:crypto";
import type { SignInConfig } from "./auth-config.js";
import { checkedFaults, settingsToCheck } from "./check-sections.js";
import { completeAuth } from "./complete-sections.js";
import { withConfigFiles } from "./complete-server.js";
import type { Config, ConfiguredServer } from "./config.js";
import type { Findings } from "./findings.js";
import { type OpenedFile, openFile } from "./open-file.js";
import { acceptExposedNames, exposeProfile, exposeSettings } from "./own-names.js";
import { type Problem, SourcePositions } from "./problem.js";
import { listenOf, parkedCallsOf } from "./read-listen.js";
import { readProfiles } from "./read-profiles.js";
import { disabledServers, readServers, serverPath } from "./read-servers.js";
import { type FileShape, fileSchema } from "./schema.js";
import {
  conflictsOf,
  faultsOfSections,
  filesOfSections,
  type LateFault,
  ownToolNames,
  type Section,
  SectionError,
  sectionsWithin,
  settingsIn,
  settingsOf,
  warningsOfSections,
} from "./section.js";
import { isServerKey } from "./server-keys.js";
import { type Fault, type Path, type Tree, treeAt } from "./tree.js";
import { parseWait } from "./units.js";
import { describePath } from "./variables.js";

/** Flags and environment variables, which override the file. */
export interface ListenOverrides {
  readonly host?: string;
  readonly port?: number;
  readonly insecure?: boolean;
  /** In the settings of sections of features, by their paths. */
  readonly sections?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

/** Options of reading a config. */
export interface ReadOptions {
  /** Where variables are looked up. Default: the environment of the process. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly overrides?: ListenOverrides;
  /** Reads the files that `${file:…}` and `envFile` name, by absolute path. Default: from the disk. */
  readonly readFile?: (path: string) => string;
  /** The sections of features. Default: none. */
  readonly sections?: readonly Section[];
  /** Where a relative `file` starts. Default: the working directory of the process. */
  readonly cwd?: string;
}

/** A valid config, but perhaps for single servers. */
export interface GoodConfig {
  readonly ok: true;
  readonly config: Config;
  /** The parsed content of the file. */
  readonly text: string;
  /** What is wrong with the entries of single servers, which are misconfigured; the others can be served. */
  readonly problems: readonly Problem[];
  /** The omitted parts of a host's own file. */
  readonly warnings: readonly Problem[];
  /** Secret values: the results of variable expansion. */
  readonly secrets: readonly string[];
  /** The sections of features that it was read with. */
  readonly sections: readonly Section[];
  /** Finds what else is wrong with its sections; see `checkSections`. */
  readonly check: () => Promise<readonly LateFault[]>;
  /** A problem at one path of the file. */
  readonly problemAt: (path: Path, message: string) => Problem;
  /** Where a server stands in the file. */
  readonly serverPath: (name: string) => Path;
}

/** An invalid config, with all its problems. */
export interface BadConfig {
  readonly ok: false;
  readonly problems: readonly Problem[];
  readonly warnings: readonly Problem[];
  /** The same for the sections with a valid shape. */
  readonly check: () => Promise<readonly LateFault[]>;
  readonly problemAt: (path: Path, message: string) => Problem;
}

/** `file` is the file's name as given. Never throws: every error becomes a problem. */
export function readConfig(text: string, file: string, options: ReadOptions = {}): GoodConfig | BadConfig {
  const source = text.replace(/^\uFEFF/, "");
  const positions = new SourcePositions(file, source);
  const opened = openFile(source, file, options);
  if (!("findings" in opened)) return unreadable(positions, opened.faults);
  const { sections = [] } = options;
  const { findings, folder, withHint } = opened;
  const content = readContent(opened, positions, options);
  const toCheck = (features: Config["features"]): Config["features"] =>
    settingsToCheck(sections, findings.tree, folder, features);
  const found = {
    warnings: positions.problems(opened.warnings),
    problemAt: (at: Path, message: string) =>
      positions.problem({ offset: treeAt(findings.tree, at).offset, message }),
  };
  const whole = findings.faults.length > 0 ? undefined : wholeOf(content);
  if (whole === undefined) {
    const { naming, servers, features } = content;
    const settings = toCheck(features);
    const exposed = naming === undefined ? settings : exposeSettings(settings, { servers, naming }, sections);
    return {
      ok: false,
      problems: positions.problems(withHint([...findings.faults, ...findings.serverFaults])),
      ...found,
      check: () => checkedFaults(sections, exposed),
    };
  }
  const config = configOf(text, opened, whole, sections);
  const late = toCheck(config.features);
  const ofSections = warningsOfSections(sections, config).map(({ path: at, message }) =>
    found.problemAt(at, message),
  );
  return {
    ok: true,
    config,
    text,
    secrets: [...opened.secrets, ...secretsOf(config, sections)],
    sections,
    serverPath: (name) => serverPath(findings.tree, name),
    problems: positions.problems(withHint(findings.serverFaults)),
    ...found,
    check: () => checkedFaults(sections, late),
    warnings: [...found.warnings, ...ofSections],
  };
}

/** A file of which nothing could be read. */
const unreadable = (positions: SourcePositions, faults: readonly Fault[]): BadConfig => ({
  ok: false,
  problems: positions.problems(faults),
  warnings: [],
  check: async () => [],
  problemAt: (_, message) => positions.problem({ offset: 0, message }),
});

/** What a file says; undefined are the parts that cannot be read. */
interface Content {
  readonly shape: FileShape | undefined;
  readonly listen: Config["listen"] | undefined;
  readonly naming: Config["naming"] | undefined;
  readonly auth: Config["auth"];
  readonly features: Config["features"];
  readonly servers: readonly ConfiguredServer[];
  readonly profiles: Config["profiles"];
  /** As `Config.files`. */
  readonly files: readonly string[];
}

interface WholeContent extends Content {
  readonly shape: FileShape;
  readonly listen: Config["listen"];
  readonly naming: Config["naming"];
}

/** Undefined if a part is missing. */
function wholeOf(content: Content): WholeContent | undefined {
  const { shape, listen, naming } = content;
  if (shape === undefined || listen === undefined || naming === undefined) return undefined;
  return { ...content, shape, listen, naming };
}

/** Adds what is wrong to the findings. */
function readContent(opened: OpenedFile, positions: SourcePositions, options: ReadOptions): Content {
  const { findings, folder, readFile, readDocument, configFiles } = opened;
  const { sections = [] } = options;
  refuseProto(findings, findings.tree, []);
  const shape = readSettings(findings, sections);
  const listen = shape && listenOf(shape, options.overrides ?? {});
  const { signIn, features } = settingsOfFile(findings, sections, shape, folder, options.overrides?.sections);
  for (const { path: at, message, key } of listen === undefined
    ? []
    : conflictsOf(sections, features, listen))
    findings.add(at, message, key);
  for (const { path: at, message, key } of shape === undefined ? [] : faultsOfSections(sections, shape))
    findings.add(at, message, key);
  const auth = listen && shape.auth && completeAuth(shape.auth, signIn, listen, findings);
  const reserved = disabledServers(findings.tree);
  const naming =
    shape === undefined ? undefined : reserved.length === 0 ? shape.naming : { ...shape.naming, reserved };
  const completed = readServers(findings, {
    ...{ folder, sections, readFile, readDocument },
    hasPrincipals: shape?.auth !== undefined,
    defaults: shape,
    problemsOf: (ofServer) => positions.problems(ofServer),
  });
  const files = [...configFiles, ...filesOfSections(sections, features)];
  const asWritten = completed.map((server) => withConfigFiles(server, sections, files));
  const servers =
    naming === undefined ? asWritten : asWritten.map((server) => acceptExposedNames(server, naming));
  const profiles = readProfiles(findings, servers, sections, folder);
  return { shape, listen, naming, auth, features, servers, profiles, files };
}

function configOf(
  text: string,
  { path }: OpenedFile,
  { shape, listen, naming, auth, features, servers, profiles, files }: WholeContent,
  sections: readonly Section[],
): Config {
  const own = ownToolNames(sections, { features, profiles, servers });
  return {
    file: path,
    digest: createHash("sha256").update(text).digest("hex").slice(0, 16),
    files,
    listen,
    ...(auth !== undefined && { auth }),
    servers,
    startupWaitMs: parseWait(shape.startupWait) ?? 0,
    naming: own.length === 0 ? naming : { ...naming, own },
    parkedCalls: parkedCallsOf(shape.parkedCalls),
    profiles: mapValues(profiles, (profile) => exposeProfile(profile, { servers, naming }, sections)),
    ...(shape.keys !== undefined && { keys: shape.keys }),
    features: exposeSettings(features, { servers, naming }, sections),
    ...(shape.telemetry !== undefined && {
      telemetry: { forwardsBaggage: shape.telemetry.baggage === "forward" },
    }),
  };
}

/** Secret values of a config that no variable was replaced by. */
const secretsOf = (config: Config, sections: readonly Section[]): readonly string[] => [
  ...[config.keys?.state, config.auth?.signIn?.clientSecret].filter((each) => each !== undefined),
  ...secretsOfFeatures(sections, "file", [config]),
  ...secretsOfFeatures(sections, "server", config.servers),
  ...secretsOfFeatures(sections, "profile", Object.values(config.profiles)),
];

/** Secret values in the settings of features. */
const secretsOfFeatures = (
  sections: readonly Section[],
  where: "file" | "server" | "profile",
  holders: readonly Pick<Config | ConfiguredServer, "features" | "auth">[],
): readonly string[] =>
  sectionsWithin(sections, where).flatMap((section) => {
    const found = holders.map((each) => settingsIn(section, each));
    return found.flatMap((settings) => (settings === undefined ? [] : section.secretsOf(settings)));
  });

/** Everything but servers and profiles, whose names may be anything. */
function readSettings(findings: Findings, sections: readonly Section[]): FileShape | undefined {
  const members = new Map(
    [...findings.tree.members].filter(([key]) => !isServerKey(key) && key !== "profiles"),
  );
  return findings.check(fileSchema(sections), { ...findings.tree, members }, []);
}

/** The settings of features, and the issuer of persons, which one of them has; a contradiction is reported with the other settings. */
function settingsOfFile(
  findings: Findings,
  sections: readonly Section[],
  shape: FileShape | undefined,
  folder: string,
  replaced: ListenOverrides["sections"] = {},
): { readonly features: Config["features"]; readonly signIn?: SignInConfig | undefined } {
  try {
    const { "auth.signIn": signIn, ...written } = settingsOf(sections, "file", shape, folder);
    const features = Object.fromEntries(
      Object.entries(written).map(([path, settings]) => [
        path,
        path in replaced ? { ...(settings as object), ...replaced[path] } : settings,
      ]),
    );
    return { features, signIn: signIn as SignInConfig | undefined };
  } catch (error) {
    if (!(error instanceof SectionError)) throw error;
    findings.add(error.path.slice(0, -1), error.message, error.path.at(-1));
    return { features: {} };
  }
}

const mapValues = <T>(record: Readonly<Record<string, T>>, change: (value: T) => T) =>
  // Not by assignment: a key may be __proto__.
  Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value)]));

/** A server or profile may be called `__proto__`; a setting of that name would be lost without a word. */
function refuseProto(findings: Findings, tree: Tree, path: Path): void {
  if (tree.kind === "array") {
    for (const [index, item] of tree.items.entries()) refuseProto(findings, item, [...path, index]);
  }
  if (tree.kind !== "object") return;
  const top = String(path[0]);
  const names = path.length === 1 && (isServerKey(top) || top === "profiles");
  for (const [key, { value }] of tree.members) {
    if (key === "__proto__" && !names) {
      const isOfServer = isServerKey(top) && path.length > 1;
      const owner = isOfServer ? findings.ofServer(String(path[1])) : findings;
      owner.add(path, `${describePath(path)} has an unknown key "__proto__"`, key);
    }
    refuseProto(findings, value, [...path, key]);
  }
}
