/** The config, complete: every default filled in, every variable expanded, durations in milliseconds. */

export interface Config {
  /** The file it came from, for messages; absent when it was made from a command line. */
  readonly file?: string;
  readonly listen: ListenConfig;
  /** In the order of the file; that order decides the order of lists. Disabled servers are left out. */
  readonly servers: readonly ServerConfig[];
  readonly naming: NamingConfig;
  readonly profiles: Readonly<Record<string, ProfileConfig>>;
}

export interface ListenConfig {
  readonly http: {
    readonly host: string;
    readonly port: number;
    readonly path: string;
    readonly allowedHosts: readonly string[];
    readonly allowedOrigins: readonly string[];
    readonly maxBodyBytes: number;
    readonly legacySse: boolean;
  };
  readonly admin: { readonly host: string; readonly port: number };
}

export interface NamingConfig {
  readonly separator: string;
  readonly maxLength: number;
}

/** Globs (`*`, `?`, `{a,b}`) over names. A name passes when an allow glob matches and no deny glob does. */
export interface NameFilter {
  readonly allow: readonly string[];
  readonly deny: readonly string[];
}

export interface ProfileConfig {
  /** The servers it shows, by key. */
  readonly servers: readonly string[];
  /** Filters over exposed names. */
  readonly tools: NameFilter;
  readonly prompts: NameFilter;
  readonly resources: NameFilter;
}

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
      /** True where the config says `type: "sse"`: the 2024-11-05 transport is tried first. */
      readonly sse: boolean;
    };

export interface ServerConfig {
  /** Its key in the config. */
  readonly name: string;
  readonly transport: TransportConfig;
  /** "" leaves names and URIs as they are. */
  readonly prefix: string;
  /** `auto`, `legacy`, `modern`, or one revision such as `2025-06-18`. */
  readonly protocol: string;
  readonly lease: "auto" | "shared" | "principal" | "session";
  readonly required: boolean;
  /** Without a sign of life; progress starts it anew. */
  readonly timeoutMs: number;
  readonly connectTimeoutMs: number;
  /** Filters over the server's own names. */
  readonly tools: NameFilter;
  readonly prompts: NameFilter;
  readonly resources: NameFilter;
}
