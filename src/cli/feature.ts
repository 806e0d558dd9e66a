/**
 * A capability that is built in and can be left out: one folder in `features/`, one line in `features/index.ts`
 * (docs/adding-a-feature.md).
 */
import type { Command } from "commander";
import type { Advice } from "../config/advice.js";
import type { Config, ServerConfig } from "../config/config.js";
import type { Section } from "../config/section.js";
import type { Route } from "../core/call.js";
import type { CredentialStore } from "../core/credentials.js";
import type {
  ExplainPlace,
  FeatureAdmin,
  FeatureCounter,
  FeatureGauge,
  OpenFeature,
} from "../core/feature.js";
import type { Logger } from "../core/logger.js";
import type { KeptServer, PersistedLists } from "../core/persisted-lists.js";
import type { StartLayer } from "../core/process-start.js";
import type { Finding } from "../core/replicas.js";
import type { OwnStore } from "../core/shared-store.js";
import type { ChannelKind } from "../upstream/supervision/channel-kind.js";
import type { AddedEntry, AddFlag, RefinedEntry } from "./added-entry.js";
import type { CommandContext } from "./command-context.js";
import type { ProbeResult } from "./probe.js";
import type { RunningGateway } from "./run-files.js";
import type { ServeFlag } from "./serve-flags.js";
import type { ServingMode } from "./serving-mode.js";

/** What a feature may use of the process. */
export interface FeatureContext {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Where files outlive the process; undefined if nothing does. */
  readonly stateFolder: string | undefined;
  readonly logger: Logger;
  /** Takes known and probable secrets out of a text. */
  readonly redact: (text: string) => string;
  /** The gateway's own. */
  readonly version: string;
  /** The number of this process among several that serve the same address (`servingMode`); undefined with a single one. */
  readonly worker: number | undefined;
  /** Of the content of the config file; undefined without a file. */
  readonly configDigest: string | undefined;
  /** Whether the process serves hosts; a command that starts servers for itself does not. */
  readonly servesHosts: boolean;
}

/** Where lists of an earlier run are. */
type KeptListsContext = Pick<FeatureContext, "version" | "logger"> & { readonly stateFolder: string };

/** The command line to which a feature adds commands. */
export interface CommandLine {
  readonly program: Command;
  /** Adds a command that uses the state folder. */
  readonly stateful: (name: string) => Command;
  readonly shell: CommandContext;
  /** Runs a command; its result is the exit code. */
  readonly finish: (work: Promise<number>) => Promise<void>;
}

/**
 * Where commands stand: after those that show what runs (`show`), after those that use servers as a host does (`use`), or
 * after those about what the gateway keeps (`keep`).
 */
export type CommandPlace = "show" | "use" | "keep";

/** The commands of a feature. */
export interface FeatureCommands {
  readonly place: CommandPlace;
  /** Their lines in `cardea --help`. */
  readonly help: string;
  /** Whether `help` is a few words, with the spaces after them, which share a line with others. */
  readonly isShort?: boolean;
  /** The examples at the end of the help of each, keyed by its words: `audit verify`. */
  readonly examples: Readonly<Record<string, readonly string[]>>;
  add(line: CommandLine): void;
}

/** Lines of `cardea explain`. */
export type ExplainedLines = Readonly<Partial<Record<ExplainPlace, readonly string[]>>>;

/** Lists that leave tools out. */
interface ShortLists {
  /** The help of `--all`, which prints all tools that a host may call. */
  readonly allHelp: string;
  /** What is said where a host may call this many tools, and lists others. */
  hint(tools: number): string;
}

/** A sentence about a key of the config, or of one of its servers. */
export type Advised = Advice;

/** The names of tools and prompts that hosts see. */
export interface ExposedNames {
  /** Of all tools and prompts, after filters. */
  readonly routes: readonly Route[];
  /** Whether the lists of a server could be read. */
  isRead(server: string): boolean;
  /** Why no name of these servers is like `pattern`; undefined if one is, or may be. */
  deadName(pattern: string, kind: "tools" | "prompts", servers: readonly string[]): string | undefined;
}

export type { AddedEntry, RefinedEntry };

/** A feature. */
export interface Feature {
  readonly name: string;
  /** Its sections of the config; loaded before a config is read. */
  loadSections?(): Promise<readonly Section[]>;
  readonly commands?: FeatureCommands;
  /** Its flags of `cardea serve`. */
  readonly serveFlags?: readonly ServeFlag[];
  /** Its flags of `cardea add` and `cardea init`. */
  readonly addFlags?: readonly AddFlag[];
  /** Another way to serve than one gateway in one process; one feature has one. */
  readonly servingMode?: ServingMode;
  /** The ways to reach servers that it adds; each has a section. They need no open feature, as a probe has none. */
  readonly channels?: readonly ChannelKind[];
  /** What a person at a terminal can do next, once the gateway serves. `program`: how a shell starts this program. */
  readyHint?(gateway: RunningGateway, program: string): string | undefined;
  /** What `cardea list` says of lists that leave tools out, if it makes such. */
  readonly shortLists?: ShortLists;
  /** What `cardea explain` prints of the members that it has added (`OpenFeature.explained`), by place. */
  explainedLines?(explained: Readonly<Record<string, unknown>>): ExplainedLines;
  /** Its metrics, whether it is open or not. */
  readonly gauges?: readonly FeatureGauge[];
  readonly counters?: readonly FeatureCounter[];
  /** Its pages and actions of the admin API, whether it is open or not. */
  loadAdmin?(): Promise<FeatureAdmin>;
  /**
   * Opens it; undefined if neither the config nor the environment asks for it. What it needs is imported then.
   *
   * @param config whose `features` have the settings of its sections
   * @throws RangeError for settings that cannot be used
   */
  open(config: FeaturedConfig, context: FeatureContext): Promise<OpenFeature | undefined>;
  /** Changes the starts of processes for a command that runs no gateway, such as `cardea doctor`; a gateway uses `OpenFeature.startLayer`. */
  startLayer?(config: FeaturedConfig, context: FeatureContext): Promise<StartLayer | undefined>;
  /** The package that a start line fetches in an exact version; undefined for any other line. */
  pinnedPackage?(command: string, args: readonly string[]): Promise<PinnedPackage | undefined>;
  /** What becomes of an entry that a person adds to a config. */
  refine?(added: AddedEntry): Promise<RefinedEntry>;
  /** Opens the store that this process shares with others, for a command without a gateway; undefined if nothing of it is there. */
  openStore?(config: FeaturedConfig, logger: Logger): Promise<OwnStore | undefined>;
  /** Whether several processes count the calls of a limit together. */
  sharesLimits?(config: FeaturedConfig): boolean;
  /** Why one process alone can serve this config, unless several count together; undefined if it is none. */
  singleProcess?(config: FeaturedConfig): Advised | undefined;
  /** Settings that are valid but probably not as intended, for `cardea check`. */
  advise?(config: Config): Promise<readonly Advised[]>;
  /** Settings that match nothing which the servers list, for `cardea doctor`. */
  ineffective?(config: Config, names: ExposedNames): Promise<readonly Advised[]>;
  /** What it has kept of these servers' lists from an earlier run, for commands that start none; by name. */
  keptLists?(
    servers: readonly KeptServer[],
    context: KeptListsContext,
  ): Promise<ReadonlyMap<string, PersistedLists>>;
  /** Checks what it needs outside of this process, for `cardea doctor`; undefined if it needs nothing. */
  findings?(
    config: FeaturedConfig & Pick<Config, "servers">,
    version: string,
  ): Promise<readonly Finding[] | undefined>;
  /** Probes a server for `cardea doctor`, with the credentials that the feature has for it. Never rejects. */
  probe?(probed: ProbedServer, context: FeatureContext): Promise<ProbeResult>;
  /** Finds what each of several processes would find wrong, before there are any. @throws RangeError as `open` does */
  check?(config: FeaturedConfig, context: FeatureContext): Promise<void>;
}

/** A package in an exact version, as a start line has it. */
export interface PinnedPackage {
  readonly name: string;
  readonly version: string;
  /** The arguments of the line, with the package without its version. */
  readonly args: readonly string[];
}

/** A server to probe. */
export interface ProbedServer {
  readonly server: ServerConfig;
  readonly config: Config;
  /** The store that this process shares with others; undefined if it shares none. */
  readonly store: OwnStore | undefined;
  /** Connects once. Never rejects. */
  readonly connect: (credentials: CredentialStore | undefined) => Promise<ProbeResult>;
}

/** What features read of a config. */
export type FeaturedConfig = Pick<Config, "features" | "keys" | "file" | "files">;

/** The ways to reach servers of all features. */
export const channelsOf = (features: readonly Feature[]): readonly ChannelKind[] =>
  features.flatMap(({ channels = [] }) => channels);

/** What all features advise on the config. */
export const advised = async (features: readonly Feature[], config: Config): Promise<readonly Advised[]> =>
  (await Promise.all(features.map(async (feature) => (await feature.advise?.(config)) ?? []))).flat();

/** The sections of all features. */
export const sectionsOf = async (features: readonly Feature[]): Promise<readonly Section[]> =>
  (await Promise.all(features.map(async (feature) => (await feature.loadSections?.()) ?? []))).flat();
