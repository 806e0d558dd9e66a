/** One call in, one reply out: the only shape the inside of the gateway knows. */

import type { RpcError } from "../wire/envelope.js";
import type { JsonObject } from "../wire/json.js";
import type { Payload } from "../wire/payload.js";
import type { Client } from "./client.js";
import type { ListKind } from "./lists.js";
import type { RoundState } from "./round-state.js";
import type { StopSignal } from "./stop.js";

/** Log levels, least severe first (RFC 5424, as MCP uses them). */
export const LOG_LEVELS = [
  "debug",
  "info",
  "notice",
  "warning",
  "error",
  "critical",
  "alert",
  "emergency",
] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/**
 * One thing a client wants done, in the words both protocol eras share.
 *
 * On its way in a call is copied by every layer that changes something. Whoever makes one writes down all members,
 * in this order, the absent ones as `undefined`: to copy an object and replace a member takes V8 20 ns, to copy it
 * and add one 1 µs.
 */
export interface Call {
  /** Unique in this process; a later round of the same call has an id of its own. */
  readonly id: number;
  readonly method: string;
  /** As the client sent them, but for the `_meta` keys that only described its own hop. */
  readonly params: JsonObject;
  readonly client: Client;
  /** Where its target leads in the client's own view; absent when the method has no target or nobody owns it. */
  readonly route?: Route | undefined;
  /** Present when this call resumes a round that ended in `input_required`. */
  readonly inputResponses?: InputResponses | undefined;
  /** The least severe log level the client asked for; absent when it asked for none. */
  readonly logLevel?: LogLevel | undefined;
  /** `Mcp-Param-*` headers that no schema explains; they are carried on to an HTTP upstream (SEP-2243). */
  readonly extraHeaders?: Readonly<Record<string, string>> | undefined;
  /** Aborted when the client gives up, whatever giving up looks like in its era. */
  readonly signal: StopSignal;
  /** Progress and log messages that belong to this call and to nothing else. */
  readonly notify: (notice: Notice) => void;
  /** Called when its server has shown in some other way that it is at work. */
  readonly onActivity?: (() => void) | undefined;
}

let lastCallId = 0;

/** The id of the next call; both eras and every inner call of the gateway's own draw from this one counter. */
export function nextCallId(): number {
  lastCallId += 1;
  return lastCallId;
}

/** How many calls there have been in this process. */
export const callCount = (): number => lastCallId;

/** What a call is about: something that a server lists, or (`methods`) nothing but the method itself. */
export type RouteKind = ListKind | "methods";

/** The owner of an exposed name or URI, or the server of a method that has no target. */
export interface Route {
  /** The server, by its key in the config. */
  readonly upstream: string;
  /** The server's own name or URI for it; of a method without a target the method. */
  readonly target: string;
  /** The name or URI the client used and the lists show. */
  readonly exposed: string;
  /**
   * Its name or URI in the gateway as a whole, where `exposed` is not that: `/mcp/NAME` shows a server's own
   * names. Rules and limits are written against this one, whichever way a client comes in.
   */
  readonly aggregateName?: string;
  /**
   * Where its name in the whole begins with the prefix of another server: the same name without that. What allows the
   * call must allow both, so a rule that allows `files__*` is about nothing but the server `files`.
   */
  readonly unambiguousName?: string;
  readonly kind: RouteKind;
  /** Of a method without a target: what its parameters name at this server. Each is judged together with the method. */
  readonly namedTargets?: readonly NamedTarget[];
  /** The server's own list entry; absent where a URI was routed by its form alone. */
  readonly item?: JsonObject;
  /** The entry as hosts see it, but for its name, where the config shows it otherwise. */
  readonly overriddenItem?: JsonObject;
  /** What the config puts into the arguments of every call. */
  readonly configuredArguments?: ConfiguredArguments;
}

/** Something that the parameters of a method name, or may name. */
export interface NamedTarget {
  readonly route: Route;
  /** False where the text may be no name at all: then rules that name such things count, and the default does not. */
  readonly surely: boolean;
}

/** Arguments of a tool that come from the config. */
export interface ConfiguredArguments {
  /** For those that a client leaves out. */
  readonly defaults: JsonObject;
  /** Whatever a client sends. */
  readonly fixed: JsonObject;
}

export interface Notice {
  readonly method: string;
  readonly params?: JsonObject;
}

/** The key of the gateway's own question, for an approval, among those of a round. */
export const APPROVAL_KEY = "cardea/approval";

/** The client's answers to an earlier `input_required`, by the keys of its requests. */
export interface InputResponses {
  readonly responses: JsonObject;
  /**
   * The errors of requests that the client refused or could not be asked, by the same keys. A server that waits
   * for a response to its own request is told the error, also where `responses` has something instead of it; to
   * one that can only be given results, `responses` is all there is.
   */
  readonly refusals?: Readonly<Record<string, RpcError>>;
  /** As the host has sent it; only outside the layer that seals states. */
  readonly sealedState?: string;
  /** Only inside that layer. */
  readonly state?: RoundState;
}

/** How long, and by whom, an answer may be kept (spec 2026-07-28: server/utilities/caching). */
export interface Freshness {
  readonly ttlMs: number;
  readonly scope: "public" | "private";
}

/** What came of a call. An error the upstream answered with is a reply; it is never thrown. */
export type Reply =
  | {
      readonly kind: "result";
      readonly result: Payload;
      readonly freshness?: Freshness;
      /** Present when the gateway made this result itself to say that it refused. */
      readonly refusal?: string;
    }
  | {
      readonly kind: "error";
      readonly error: RpcError;
      readonly refusal?: string;
      /** A token that grants all of these would be let through; over HTTP the client is told so. */
      readonly scopes?: readonly string[];
    }
  | {
      readonly kind: "input_required";
      readonly requests: JsonObject;
      /** As the host gets it; only outside the layer that seals states. */
      readonly sealedState?: string;
      /** Only inside that layer. */
      readonly state?: RoundState;
      /** Tells which of the requests nobody waits for any more; absent where nobody here would learn of it. */
      readonly open?: OpenRequests;
    };

/** The requests of one round, while a server waits for the answers. */
export interface OpenRequests {
  /**
   * Calls `gone` with the key of each request that wants no answer any more: the server took it back, answered the
   * call without it, or is gone. At once for those that are gone already; until the returned function is called.
   */
  watch(gone: (key: string) => void): () => void;
}
