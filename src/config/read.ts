/** Turns the text of a config file into a complete config, or into all of its problems. */

import { createHash } from "node:crypto";
import { dirname, extname, resolve } from "node:path";
import { addressRanges } from "../http/address-ranges.js";
import type { SignInConfig } from "./auth-config.js";
import { completeAuth } from "./complete-sections.js";
import { withConfigFiles } from "./complete-server.js";
import type { Config, ConfiguredServer } from "./config.js";
import { expandFile, hostVariables, variablesOfFile, withVariables } from "./expand.js";
import { Findings } from "./findings.js";
import { isHostFile, stripHostFile, withImportHint } from "./host-config-file.js";
import { namedFiles, type ReadNamedFile } from "./named-files.js";
import { acceptExposedNames, exposeProfile, exposeSettings } from "./own-names.js";
import { type Problem, SourcePositions } from "./problem.js";
import { readJson } from "./read-json.js";
import { readProfiles } from "./read-profiles.js";
import { disabledServers, readServers, serverPath } from "./read-servers.js";
import { readYaml } from "./read-yaml.js";
import { type FileShape, fileSchema } from "./schema.js";
import {
  checkedFaults,
  faultsOfSections,
  type LateFault,
  ownToolNames,
  type Section,
  SectionError,
  sectionsWithin,
  settingsIn,
  settingsOf,
  settingsToCheck,
  warningsOfSections,
} from "./section.js";
import { isServerKey } from "./server-keys.js";
import { type Fault, type ParseResult, type Path, type Tree, treeAt } from "./tree.js";
import { parseDuration, parseWait } from "./units.js";
import { describePath } from "./variables.js";

/** Flags and environment variables, which override the file. */
export interface ListenOverrides {
  readonly host?: string;
  readonly port?: number;
  readonly adminHost?: string;
  readonly adminPort?: number;
  readonly insecure?: boolean;
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
  const bad = (
    faults: readonly Fault[],
    found: Partial<Pick<BadConfig, "warnings" | "check" | "problemAt">> = {},
  ): BadConfig => ({
    ok: false,
    problems: positions.problems(faults),
    warnings: [],
    check: async () => [],
    problemAt: (_, message) => positions.problem({ offset: 0, message }),
    ...found,
  });

  const { tree: whole, faults } = parse(source, file);
  if (whole === undefined) return bad(faults);
  if (whole.kind !== "object") {
    return bad([{ offset: whole.offset, message: "a config is an object with keys and values" }]);
  }

  const path = resolve(options.cwd ?? process.cwd(), file);
  const folder = dirname(path);
  const host = isHostFile(file, whole);
  const { tree, warnings } = host ? stripHostFile(whole, options.sections) : { tree: whole, warnings: [] };
  const readDocument = namedFiles(folder, options.readFile);
  const configFiles = new Set([path]);
  const readFile: ReadNamedFile = (named, maxBytes) => {
    configFiles.add(resolve(folder, named));
    return readDocument(named, maxBytes);
  };
  const variables = host ? { values: {}, faults: [] } : variablesOfFile(tree, readFile);
  const expanded = expandFile(tree, {
    env: withVariables(options.env ?? process.env, variables.values),
    readFile,
    ...(host && { builtIn: hostVariables(folder) }),
  });

  const findings = new Findings(
    expanded.tree,
    [...faults, ...variables.faults, ...expanded.faults],
    expanded.serverFaults,
  );
  refuseProto(findings, findings.tree, []);
  const { sections = [] } = options;
  const shape = readSettings(findings, sections);
  const listen = shape && listenOf(shape, options.overrides ?? {});
  const conflict = listen && portConflict(listen);
  if (conflict !== undefined) findings.add(["listen", "admin", "port"], conflict);
  const { signIn, features } = settingsOfFile(findings, sections, shape, folder);
  for (const { path: at, message, key } of shape === undefined ? [] : faultsOfSections(sections, shape))
    findings.add(at, message, key);
  const auth = listen && shape.auth && completeAuth(shape.auth, signIn, listen, findings);
  const reserved = disabledServers(findings.tree);
  const naming =
    shape === undefined ? undefined : reserved.length === 0 ? shape.naming : { ...shape.naming, reserved };
  const completed = readServers(findings, {
    folder,
    sections,
    readFile,
    readDocument,
    hasPrincipals: shape?.auth !== undefined,
    defaults: shape,
    problemsOf: (ofServer) => positions.problems(ofServer),
  });
  const asWritten = completed.map((server) => withConfigFiles(server, sections, [...configFiles]));
  const servers =
    naming === undefined ? asWritten : asWritten.map((server) => acceptExposedNames(server, naming));
  const profiles = readProfiles(findings, servers, sections, folder);
  const toCheck = settingsToCheck(sections, findings.tree, folder, features);
  const checkOf = (settings: Config["features"]) => () => checkedFaults(sections, settings);
  const withHint = (all: readonly Fault[]): readonly Fault[] =>
    host ? all : withImportHint(all, file, whole);
  const found = {
    warnings: positions.problems(warnings),
    problemAt: (at: Path, message: string) =>
      positions.problem({ offset: treeAt(findings.tree, at).offset, message }),
  };
  if (findings.faults.length > 0 || shape === undefined || listen === undefined || naming === undefined)
    return bad(withHint([...findings.faults, ...findings.serverFaults]), {
      ...found,
      check: checkOf(naming === undefined ? toCheck : exposeSettings(toCheck, { servers, naming }, sections)),
    });

  const own = ownToolNames(sections, { features, profiles });
  const config: Config = {
    file: path,
    digest: createHash("sha256").update(text).digest("hex").slice(0, 16),
    listen,
    ...(auth !== undefined && { auth }),
    servers,
    startupWaitMs: parseWait(shape.startupWait) ?? 0,
    naming: own === undefined ? naming : { ...naming, own },
    parkedCalls: parkedCallsOf(shape.parkedCalls),
    profiles: mapValues(profiles, (profile) => exposeProfile(profile, { servers, naming }, sections)),
    ...(shape.keys !== undefined && { keys: shape.keys }),
    features: exposeSettings(features, { servers, naming }, sections),
    ...(shape.telemetry !== undefined && {
      telemetry: { forwardsBaggage: shape.telemetry.baggage === "forward" },
    }),
  };
  const ofSections = warningsOfSections(sections, config).map(({ path: at, message }) =>
    found.problemAt(at, message),
  );
  return {
    ok: true,
    config,
    text,
    secrets: [
      ...expanded.secrets,
      ...[listen.admin.token, shape.keys?.state, auth?.signIn?.clientSecret].filter(
        (each) => each !== undefined,
      ),
      ...secretsOfFeatures(sections, "file", [config]),
      ...secretsOfFeatures(sections, "server", servers),
      ...secretsOfFeatures(sections, "profile", Object.values(config.profiles)),
    ],
    sections,
    serverPath: (name) => serverPath(findings.tree, name),
    problems: positions.problems(withHint(findings.serverFaults)),
    ...found,
    check: checkOf(settingsToCheck(sections, findings.tree, folder, config.features)),
    warnings: [...found.warnings, ...ofSections],
  };
}

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

const IS_TOML = `a config is JSON or YAML, and TOML is a host's: "cardea import FILE" turns Codex's into Cardea's`;

/** By the extension; without a known one, by the first character. */
export function parse(text: string, file: string): ParseResult {
  const extension = extname(file).toLowerCase();
  if (extension === ".yaml" || extension === ".yml") return readYaml(text);
  if (extension === ".toml") return { faults: [{ offset: 0, message: IS_TOML }] };
  if (extension === ".json" || extension === ".jsonc" || /^\s*[{[/]/.test(text)) return readJson(text);
  return readYaml(text);
}

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
): { readonly features: Config["features"]; readonly signIn?: SignInConfig | undefined } {
  try {
    const { "auth.signIn": signIn, ...features } = settingsOf(sections, "file", shape, folder);
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

function parkedCallsOf({ answerTimeout, ...counts }: FileShape["parkedCalls"]): Config["parkedCalls"] {
  return { ...counts, answerMs: milliseconds(answerTimeout) };
}

function milliseconds(duration: string): number {
  const ms = parseDuration(duration);
  if (ms === undefined) throw new RangeError("the schema let a duration pass that is none");
  return ms;
}

/** The problem of two listeners on one address; ports that the system picks never collide. */
function portConflict({ http, admin }: Config["listen"]): string | undefined {
  const [one, other] = [http.host, admin.host].map((host) => host.toLowerCase());
  const overlap = one === other || [one, other].some((host) => host === "0.0.0.0" || host === "::");
  if (http.port === 0 || http.port !== admin.port || !overlap) return undefined;
  return `listen.http and listen.admin would both be at port ${http.port}; one of them needs another (--port, --admin-port)`;
}

function listenOf(
  { listen }: { readonly listen: FileShape["listen"] },
  overrides: ListenOverrides,
): Config["listen"] {
  const { trustedProxies, keepAliveTimeout, serverCard, ...http } = listen.http;
  const publicUrl = http.publicUrl?.replace(/\/+$/, "");
  const { allowedHosts } = http;
  const trusted = trustedProxies.map(addressRanges).filter((ranges) => typeof ranges !== "string");
  return {
    http: {
      ...http,
      keepAliveMs: milliseconds(keepAliveTimeout),
      ...(serverCard !== false && { serverCard: serverCard === true ? {} : serverCard }),
      ...(trusted.length > 0 && { trustedProxies: trusted.flat() }),
      ...(publicUrl !== undefined && { publicUrl, allowedHosts: [...allowedHosts, new URL(publicUrl).host] }),
      host: overrides.host ?? listen.http.host,
      port: overrides.port ?? Number(listen.http.port),
      insecure: overrides.insecure ?? listen.http.insecure,
    },
    admin: {
      ...listen.admin,
      host: overrides.adminHost ?? listen.admin.host,
      port: overrides.adminPort ?? Number(listen.admin.port),
    },
  };
}
