/** The config, complete: every default filled in, every variable expanded, durations in milliseconds. */
import type { AuthConfig } from "./auth-config.js";
import type { ClusterConfig } from "./cluster-config.js";
import type { ServerAuthConfig } from "./server-auth.js";
import type { TelemetryConfig } from "./telemetry-config.js";

/** A complete config: defaults filled in, times in ms, variables expanded. */
export interface Config {
  /** The file it came from, for messages; absent when it was made from a command line. */
  readonly file?: string;
  /** Tells two texts of the file apart; absent as `file` is. */
  readonly digest?: string;
  readonly listen: ListenConfig;
  /** Authentication over HTTP; absent where none is required. */
  readonly auth?: AuthConfig;
  /** In the order of the file; that order decides the order of lists. Disabled servers are left out. */
  readonly servers: readonly ServerConfig[];
  /** How long (ms) a list waits for servers in their first start. */
  readonly startupWaitMs: number;
  readonly naming: NamingConfig;
  /** Which tools hosts list, where no profile says otherwise. */
  readonly tools: ExposureConfig;
  readonly parkedCalls: ParkedCallsConfig;
  readonly profiles: Readonly<Record<string, ProfileConfig>>;
  /** `state`: a secret of at least 32 characters, from which the keys of request states and task handles are made. */
  readonly keys?: { readonly state: string };
  /** How what is kept of sign-ins is encrypted; absent where the key is the one in the state directory. */
  readonly credentials?: CredentialsConfig;
  readonly policy?: PolicyConfig;
  readonly limits?: readonly LimitConfig[];
  /** Absent where no audit log is written. */
  readonly audit?: AuditConfig;
  /** Absent where the file has none of it: see `forwardsBaggage`. */
  readonly telemetry?: TelemetryConfig;
  /** Absent where this gateway is the only one. */
  readonly cluster?: ClusterConfig;
}

/** The audit log. */
export interface AuditConfig {
  /** Absolute. */
  readonly file: string;
  /** Whether calls are refused while it cannot be written. */
  readonly required: boolean;
  readonly arguments: "digest" | "redacted" | "full";
  /** Absent members: not by age; all files are kept. */
  readonly rotate: { readonly sizeBytes: number; readonly everyMs?: number; readonly keep?: number };
}

/** The keys (32 bytes in base64) that encrypt credentials: the first one encrypts, all decrypt. One of both is there. */
export interface CredentialsConfig {
  readonly keys?: readonly string[];
  /** Absolute. */
  readonly keyFile?: string;
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
    readonly legacySse: boolean;
    /** The URL of the listener for browsers, without a slash at its end; absent where it is the one it listens at. */
    readonly publicUrl?: string;
    /** Listens beyond loopback without authentication. */
    readonly insecure: boolean;
  };
  /** The admin token in plain text, or `sha256:` and its hash; absent where none is required on loopback. */
  readonly admin: {
    readonly host: string;
    readonly port: number;
    readonly token?: string;
    /** Live calls show arguments and results. Default: they do not. */
    readonly showArguments?: boolean;
  };
}

/** How many calls may wait for the answers to what their servers asked, and how long. */
interface ParkedCallsConfig {
  readonly total: number;
  readonly perPrincipal: number;
  readonly perServer: number;
  readonly answerMs: number;
}

/** Which tools hosts list. */
export interface ExposureConfig {
  readonly exposure: "full" | "search" | "auto";
  /** Globs over exposed names. */
  readonly pinned: readonly string[];
  /** In estimated tokens: bytes / 4. */
  readonly autoThreshold: number;
}

interface NamingConfig {
  readonly separator: string;
  readonly maxLength: number;
  /** Disabled servers, whose names stay reserved; absent where there are none. */
  readonly reserved?: readonly { readonly name: string; readonly prefix: string }[];
  /** True where hosts of some URL may get `find_tools` and `call_tool`: no tool of a server is exposed under these names. */
  readonly hasSearchTools?: true;
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
  /** Which of its tools hosts list; absent where it is as at the top level. */
  readonly exposure?: ExposureConfig;
}

/** How a server is reached. */
export type TransportConfig =
  | {
      readonly kind: "stdio";
      readonly command: string;
      readonly args: readonly string[];
      readonly env: Readonly<Record<string, string>>;
      /** Absolute. */
      readonly cwd: string;
    }
  | {
      readonly kind: "http";
      readonly url: string;
      readonly headers: Readonly<Record<string, string>>;
      /** True for `type: "sse"`: the 2024-11-05 transport is tried first. */
      readonly sse: boolean;
    }
  | OpenApiTransport;

/** An HTTP API that an OpenAPI document describes. */
export interface OpenApiTransport {
  readonly kind: "openapi";
  readonly document:
    | { readonly url: string }
    /** An absolute path, and the SHA-256 of the file when the config was read: a reload with another one is a change. */
    | { readonly file: string; readonly digest: string };
  /** Absent: the document's first server. */
  readonly baseUrl?: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly include?: OperationFilter;
  readonly exclude?: OperationFilter;
}

/** Selects operations by globs over tags and paths, and by methods in lower case. */
export interface OperationFilter {
  readonly tags?: readonly string[] | undefined;
  readonly paths?: readonly string[] | undefined;
  readonly methods?: readonly string[] | undefined;
}

/** One server. */
export interface ServerConfig {
  /** Its key in the config. */
  readonly name: string;
  readonly transport: TransportConfig;
  /** How it is signed in to when it asks for it; absent where it is not. */
  readonly auth?: ServerAuthConfig;
  /** "": names and URIs are not changed. */
  readonly prefix: string;
  /** `auto`, `legacy`, `modern`, or one revision such as `2025-06-18`. */
  readonly protocol: string;
  readonly lease: "auto" | "shared" | "principal" | "session";
  /** When its shared connection is opened: when a call needs it, or with the gateway. */
  readonly start: "demand" | "eager";
  /** How long a connection is kept after its last use. */
  readonly idleTimeoutMs: number;
  readonly required: boolean;
  /** Without a sign of life; progress starts it again. */
  readonly timeoutMs: number;
  readonly connectTimeoutMs: number;
  /** The roots it gets where no host can be asked; absent where none are configured. */
  readonly roots?: readonly { readonly uri: string; readonly name?: string }[];
  /** Filters over the server's own names. */
  readonly tools: NameFilter;
  readonly prompts: NameFilter;
  readonly resources: NameFilter;
  /** What is looked at in its calls and results; absent where nothing is. */
  readonly checks?: ChecksConfig;
  /** How single tools are shown and called, by the server's own names for them. */
  readonly overrides?: Readonly<Record<string, ToolOverride>>;
  /** How the definitions of its tools are shortened; absent where they are not. */
  readonly shortening?: ShorteningConfig;
}

/** Shorter definitions of tools. */
export interface ShorteningConfig {
  /** The maximum length of a description, in characters; absent where there is none. */
  readonly descriptionLength?: number;
  readonly compactSchemas: boolean;
}

/** Which calls and results of a server are checked. */
export interface ChecksConfig {
  /** Whether arguments must be what the tool's input schema asks for. */
  readonly arguments: boolean;
  /** Whether results are checked against the tool's output schema. */
  readonly results: boolean;
  readonly maxArgumentBytes?: number;
  readonly maxResultBytes?: number;
}

interface ToolOverride {
  readonly name?: string;
  readonly title?: string;
  readonly description?: string;
  readonly arguments?: {
    /** For arguments that a host leaves out. */
    readonly defaults: Readonly<Record<string, unknown>>;
    /** Whatever a host sends. */
    readonly fixed: Readonly<Record<string, unknown>>;
  };
}

/** Rules in order, and the effect where none matches. */
export interface PolicyConfig {
  /** What happens when no rule matches. */
  readonly default: "allow" | "deny";
  /** In the order of the file; the first one that matches decides. */
  readonly rules: readonly RuleConfig[];
}

/** What a rule is about: a host's call, or one kind of question from a server. */
export type InteractionKind = "call" | "sampling" | "elicitation" | "roots";

/** What a rule or limit is about. What is not given does not narrow it. */
export interface MatcherConfig {
  readonly on: InteractionKind;
  /** Globs over exposed names and URIs. Where one of these four is given, the kinds that are not do not match. */
  readonly tools?: readonly string[];
  readonly prompts?: readonly string[];
  readonly resources?: readonly string[];
  /** Globs over methods that have no target of their own. */
  readonly methods?: readonly string[];
  /** Globs over the servers' keys. */
  readonly servers?: readonly string[];
  /** Globs over the ids of principals. */
  readonly principals?: readonly string[];
  /** The principal must be in one of these. */
  readonly groups?: readonly string[];
  /** The principal must have all of these. */
  readonly scopes?: readonly string[];
  /** Annotations that a tool must have, such as `destructiveHint: true`. */
  readonly annotations?: Readonly<Record<string, boolean>>;
}

/** One rule. */
export interface RuleConfig extends MatcherConfig {
  /** As in the file, or `rule-N` with its place there. */
  readonly name: string;
  /** A CEL expression. */
  readonly when?: string;
  readonly effect: "allow" | "deny" | "approve" | "redact" | "hide";
  /** The message for the refused caller, or for the person who approves. */
  readonly message?: string;
  /** With `approve`: how long the same call of the same principal is not asked about again. */
  readonly rememberMs?: number;
  /** With `redact`. */
  readonly redact?: RedactConfig;
  /** With `on: sampling`: the most tokens a server may ask for. */
  readonly maxTokens?: number;
  /** With `on: sampling`: leaves `includeContext` out of what the host is asked. */
  readonly stripContext?: boolean;
  /** With `on`: how many rounds of questions one call may take. */
  readonly maxRounds?: number;
}

interface RedactConfig {
  readonly arguments: RedactionConfig;
  readonly results: RedactionConfig;
  /** What stands where something was taken out. */
  readonly replacement: string;
}

/** What a rule redacts. */
export interface RedactionConfig {
  /** Members by their dotted path; `*` is any member or element. */
  readonly paths: readonly string[];
  /** RE2 patterns; what they match in any text is taken out. */
  readonly patterns: readonly string[];
}

/** One limit. */
export interface LimitConfig extends MatcherConfig {
  /** As in the file, or `limit-N` with its place there. */
  readonly name: string;
  readonly rate?: { readonly count: number; readonly windowMs: number };
  /** How many may start at once; default the count of the rate. */
  readonly burst?: number;
  /** How many in a time that begins with the first one; then it begins again. */
  readonly quota?: { readonly count: number; readonly windowMs: number };
  readonly concurrency?: number;
  /** How many may wait for their turn. */
  readonly queue?: number;
  readonly timeoutMs?: number;
  /** Who shares it. */
  readonly per: "principal" | "session" | "server" | "tool" | "all";
}
