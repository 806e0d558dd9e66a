/** What the commands need of a gateway. */
import type { Readable, Writable } from "node:stream";
import type { Config } from "../config/config.js";
import type { Reply } from "../core/call.js";
import type { ListKind } from "../core/upstream.js";
import type { JsonObject } from "../wire/json.js";

export interface Gateway {
  start(): Promise<{ readonly url: string; readonly adminUrl: string }>;
  stop(options?: { readonly immediate?: boolean }): Promise<void>;
  /** Serves the host on the pipe until the input ends. */
  stdio(input: Readable, output: Writable): Promise<void>;
  /** What a host sees, and from which server. */
  lists(kind: ListKind): Promise<readonly { readonly server: string; readonly item: JsonObject }[]>;
  call(name: string, args: JsonObject): Promise<Reply>;
  /** Applies a new config whole; rejects, and keeps the old one, when that cannot be done. */
  reload(config: Config): Promise<void>;
  /** A new config was refused and the old one stays; for the metric and the readiness page. */
  reloadFailed(reasons: readonly string[]): void;
}
