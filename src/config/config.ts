/** The complete config: every default filled in, every variable expanded, durations in milliseconds. */
import type { AddressRange } from "../http/address-ranges.js";
import type { Network } from "../outgoing/network.js";
import type { AuthConfig } from "./auth-config.js";
import type { ForwardedHeader } from "./forward-headers.js";
import type { Problem } from "./problem.js";
import type { OwnToolNames } from "./section.js";
import type { ServerAuthConfig } from "./server-auth.js";

/** A complete config: defaults filled in, times in ms, variables expanded. */
export interface Config {
  /** The file it was read from, for messages; absent if it was made from a command line. */
  readonly file?: string;
  /** A digest of the file's text; absent like `file`. */
  readonly digest?: string;
  /**
   * The absolute paths of files that are the gateway's alone: those whose content is in it, such as those of `envFile`, and those that
   * its sections name (`SettingsSection.filesOf`); absent like `file`.
   */
  readonly files?: readonly string[];
  readonly listen: ListenConfig;
  /** Authentication over HTTP; absent if none is required. */
  readonly auth?: AuthConfig;
  /** In file order, which decides the order of lists. Disabled servers are omitted. */
  readonly servers: readonly ConfiguredServer[];
  /** How long (ms) a list waits for starting servers. */
  readonly startupWaitMs: number;
  readonly naming: NamingConfig;
  readonly parkedCalls: ParkedCallsConfig;
  readonly profiles: Readonly<Record<string, ProfileConfig>>;
  /** `state`: a secret of at least 32 characters, from which the keys of request states and task handles are made. */
  readonly keys?: { readonly state: string };
  /** Absent if the file has no such section: see `forwardsBaggage`. */
  readonly telemetry?: TelemetryConfig;
  /** The settings of features, keyed by the paths of their sections. */
  readonly features: FeatureSettings;
}

/** What features may read of the config. @public each feature adds its member by a declaration */
export interface FeatureSettings {
  readonly [path: string]: unknown;
}

/** The same of one server. @public */
export interface ServerFeatureSettings {
  readonly [path: string]: unknown;
}

/** The same of one profile. @public */
export interface ProfileFeatureSettings {
  readonly [path: string]: unknown;
}

/** The same of one tool in `overrides`. @public */
export interface ToolFeatureSettings {
  readonly [path: string]: unknown;
}

/** The trace context that hosts send. */
interface TelemetryConfig {
  /** Whether servers get the `baggage` that hosts send. */
  readonly forwardsBaggage: boolean;
}

/** The addresses of both listeners. */
export interface ListenConfig {
  readonly http: {
    readonly host: string;
    readonly port: number;
    readonly path: string;
    readonly allowedHosts: readonly string[];
    readonly allowedOrigins: readonly string[];
    readonly maxBodyBytes: number;
    /** How long an idle connection stays open, in ms. */
    readonly keepAliveMs: number;
    readonly legacySse: boolean;
    /** What the server card says of the gateway; absent: there is no card. */
    readonly serverCard?: {
      readonly name?: string;
      readonly title?: string;
      readonly description?: string;
      readonly websiteUrl?: string;
    };
    /** The URL of the listener for browsers, without a trailing slash; absent if it is the bound address. */
    readonly publicUrl?: string;
    /** The proxies that say where a request comes from. Default: none. */
    readonly trustedProxies?: readonly AddressRange[];
    /** Listens beyond loopback without authentication. */
    readonly insecure: boolean;
  };
}

/** Limits of parked calls: their number and how long they wait. */
interface ParkedCallsConfig {
  readonly total: number;
  readonly perPrincipal: number;
  readonly perServer: number;
  readonly answerMs: number;
}

interface NamingConfig {
  readonly separator: string;
  readonly maxLength: number;
  /** Disabled servers, whose names stay reserved; absent if there are none. */
  readonly reserved?: readonly { readonly name: string; readonly prefix: string }[];
  /** The names of tools of the gateway itself; absent if it has none at any URL. */
  readonly own?: readonly OwnToolNames[];
}

/** Globs (`*`, `?`, `{a,b}`) over names. A name passes when an allow glob matches and no deny glob does. */
export interface NameFilter {
  readonly allow: readonly string[];
  readonly deny: readonly string[];
}

/** A named subset of servers, at `/mcp/NAME`. */
export interface ProfileConfig {
  /** The servers it shows, by key. */
  readonly servers: readonly string[];
  /** Filters over exposed names. */
  readonly tools: NameFilter;
  readonly prompts: NameFilter;
  readonly resources: NameFilter;
  /** The settings of features, keyed by the paths of their sections. */
  readonly features: ProfileFeatureSettings;
}

/** How a server is reached: as a process, over HTTP, or by the channel of a feature. */
export type TransportConfig =
  | {
      readonly kind: "stdio";
      readonly command: string;
      readonly args: readonly string[];
      readonly env: Readonly<Record<string, string>>;
      /** Absolute. */
      readonly cwd: string;
      /**
       * `cwd: "roots"`: calls run in processes whose working directory is the first root of the host; `cwd` is for the lists.
       * `under`: absolute paths of folders in or below which it must be; absent: any, for hosts without authentication.
       */
      readonly inRoots?: { readonly under?: readonly string[] };
    }
  | {
      readonly kind: "http";
      readonly url: string;
      readonly headers: Readonly<Record<string, string>>;
      /** Absent without proxy and TLS settings. */
      readonly network?: Network;
      /** Headers of hosts that it gets; absent if there are none. */
      readonly forwardHeaders?: readonly ForwardedHeader[];
      /** True for `type: "sse"`: the 2024-11-05 transport is tried first. */
      readonly sse: boolean;
    }
  | FeatureTransports[keyof FeatureTransports];

/** Those of features, by their `kind`: each extends `FeatureTransport`. @public a feature adds its own by a declaration */
// biome-ignore lint/suspicious/noEmptyInterface: features add members
export interface FeatureTransports {}

/** What the gateway knows of a server that a feature reaches. */
export interface FeatureTransport {
  /** The word of `type`. */
  readonly kind: string;
  /** Of each request to it. */
  readonly headers: Readonly<Record<string, string>>;
  /** Absent without proxy and TLS settings. */
  readonly network?: Network;
  /** Headers of hosts that it gets; absent if there are none. */
  readonly forwardHeaders?: readonly ForwardedHeader[];
}

/** One server. */
export interface ServerConfig {
  /** Its key in the config. */
  readonly name: string;
  readonly transport: TransportConfig;
  /** Whose credentials its requests carry; absent if none but those in its headers. */
  readonly auth?: ServerAuthConfig;
  /** "": names and URIs are unchanged. */
  readonly prefix: string;
  /** `auto`, `legacy`, `modern`, or one revision such as `2025-06-18`. */
  readonly protocol: string;
  readonly lease: "auto" | "shared" | "principal" | "session";
  /** When its shared connection is opened: on demand, or with the gateway. */
  readonly start: "demand" | "eager";
  /** How long an unused connection is kept. */
  readonly idleTimeoutMs: number;
  readonly required: boolean;
  /** Without any message; progress restarts it. */
  readonly timeoutMs: number;
  readonly connectTimeoutMs: number;
  /** The same for its first start, during which its command may fetch a package; absent if it is not longer. */
  readonly firstConnectTimeoutMs?: number;
  /** The roots it gets if no host can be asked; absent if none are configured. */
  readonly roots?: readonly { readonly uri: string; readonly name?: string }[];
  /** Filters over the server's own names. */
  readonly tools: NameFilter;
  readonly prompts: NameFilter;
  readonly resources: NameFilter;
  /** The settings of features for this server, keyed by the paths of their sections. */
  readonly features: ServerFeatureSettings;
  /** Overrides of single tools, by the server's own names. */
  readonly overrides?: Readonly<Record<string, ToolOverride>>;
  /** Whether JSON texts of arguments are parsed where a tool's schema admits no text; absent: as its channel does. */
  readonly parseJsonText?: boolean;
}

/**
 * A server whose entry is wrong. It is never started; the members that could be read keep its name space, so that
 * names in rules and profiles mean the same.
 */
export interface MisconfiguredServer extends Omit<ServerConfig, "transport" | "auth"> {
  readonly transport: { readonly kind: "unknown" };
  readonly auth?: never;
  /** What is wrong with the entry, in file order; never empty. */
  readonly problems: readonly Problem[];
}

/** A server of the file, right or wrong. */
export type ConfiguredServer = ServerConfig | MisconfiguredServer;

/** Whether a server cannot be started, because its entry is wrong. */
export const isMisconfigured = (server: ConfiguredServer): server is MisconfiguredServer =>
  server.transport.kind === "unknown";

/** Whether each principal signs in at the server, so that hosts of different principals have different credentials there. */
export const signsInEachPerson = (server: ConfiguredServer): boolean =>
  "auth" in server && server.auth?.as === "principal" && server.auth.hasPrincipals;

/** The servers that can be started. */
export const usableServers = ({ servers }: Pick<Config, "servers">): readonly ServerConfig[] =>
  servers.filter((server): server is ServerConfig => !isMisconfigured(server));

interface ToolOverride {
  readonly name?: string;
  readonly title?: string;
  readonly description?: string;
  readonly arguments?: {
    /** For arguments that a host omits. */
    readonly defaults: Readonly<Record<string, unknown>>;
    /** Replaces what a host sends. */
    readonly fixed: Readonly<Record<string, unknown>>;
    /** Absent: as the server. */
    readonly parseJsonText?: boolean;
  };
  /** The settings of features for this tool, keyed by the paths of their sections; absent if there are none. */
  readonly features?: ToolFeatureSettings;
}
