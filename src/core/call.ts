/** What are a call, its reply, its notifications and its handlers inside the gateway? Both eras are translated to these types at the edges. */
import { compareNumbers, isNumber, type JsonNumber } from "../wire/decimal.js";
import { isProgressToken, type MessageId, type RpcError } from "../wire/envelope.js";
import { type JsonObject, objectAt } from "../wire/json.js";
import { META } from "../wire/names.js";
import type { Payload } from "../wire/payload.js";
import type { CallNotes } from "./call-record.js";
import type { Client } from "./client.js";
import type { ListKind } from "./lists.js";
import type { QuestionKind } from "./methods.js";
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
/** One of `LOG_LEVELS`. */
export type LogLevel = (typeof LOG_LEVELS)[number];

/** The rank of a log level, from 0 for `debug`; -1 for anything else. */
export const severityOf = (level: unknown): number => (LOG_LEVELS as readonly unknown[]).indexOf(level);

/**
 * A request of a client, without anything of its era.
 *
 * Each layer that changes a call copies it. Code that creates a call lists all members in this order, absent ones as
 * `undefined`: copying an object and replacing a member takes V8 20 ns, copying it and adding one takes 1 µs.
 */
export interface Call {
  /** Unique in its gateway, for the log; 0 if it is no call of a client. A later round of the call has its own. */
  readonly id: number;
  readonly method: string;
  /** As the client sent them, without the `_meta` keys of its own hop. */
  readonly params: JsonObject;
  readonly client: Client;
  /** The owner of the target in the client's view; absent when the method has no target or no server owns it. */
  readonly route?: Route | undefined;
  /** Present when this call resumes a round that ended in `input_required` (2026-07-28: basic/patterns/mrtr). */
  readonly inputResponses?: InputResponses | undefined;
  /** The least severe log level the client asked for; absent when it asked for none. */
  readonly logLevel?: LogLevel | undefined;
  /** `Mcp-Param-*` headers that no schema explains; they are carried on to an HTTP upstream (SEP-2243). */
  readonly extraHeaders?: Readonly<Record<string, string>> | undefined;
  /** Aborts when the client cancels the call or disconnects. */
  readonly signal: StopSignal;
  /** Sends progress and log messages of this call to the client. */
  readonly notify: (notice: Notice) => void;
  /** Called on any other sign of life from the server; restarts the idle timeout. */
  readonly onActivity?: (() => void) | undefined;
  /** Of a call that a feature has made of another one: a word for how the client called; absent if it called the target by its name. */
  readonly via?: string | undefined;
  /** What layers note for the record of the call, shared by all copies of it; absent if the call has no record. */
  readonly record?: CallNotes | undefined;
}

/** Numbers the calls of one gateway, in both eras, and those that the gateway makes itself. */
export class CallIds {
  #last = 0;

  next(): number {
    this.#last += 1;
    return this.#last;
  }

  get count(): number {
    return this.#last;
  }
}

/** The list that the target of a call is in; `methods` for methods without a target. */
export type RouteKind = ListKind | "methods";

/** The owner of an exposed name or URI, or the server of a method that has no target. */
export interface Route {
  /** The server, by its key in the config. */
  readonly upstream: string;
  /** The server's own name or URI of the target; the method itself where it has no target. */
  readonly target: string;
  /** The name or URI the client used and the lists show. */
  readonly exposed: string;
  /**
   * Its name or URI in the gateway as a whole, where `exposed` is not that: `/mcp/NAME` shows a server's own
   * names. Rules and limits are written against this one, whichever way a client comes in.
   */
  readonly aggregateName?: string;
  /**
   * `aggregateName` without the prefix of another server, where it happens to begin with one. An allow rule must match
   * both names, so that `files__*` matches nothing but tools of the server `files`.
   */
  readonly unambiguousName?: string;
  readonly kind: RouteKind;
  /** Of a method without a target: what its parameters name at this server. Policy checks each of them too. */
  readonly namedTargets?: readonly NamedTarget[];
  /** The server's own list entry; absent if a URI was routed by its form alone. */
  readonly item?: JsonObject;
  /** The entry with the overrides of the config, shortened as it says, which hosts see; its name is not changed. */
  readonly overriddenItem?: JsonObject;
  /** Arguments that the config adds to every call. */
  readonly configuredArguments?: ConfiguredArguments;
}

/** The route of a method that has no target, at one server. */
export const methodRoute = (
  upstream: string,
  method: string,
  namedTargets: readonly NamedTarget[] = [],
): Route => ({
  upstream,
  target: method,
  exposed: method,
  kind: "methods",
  ...(namedTargets.length > 0 && { namedTargets }),
});

/** A tool, prompt or resource that the parameters of a method name, or may name. */
export interface NamedTarget {
  readonly route: Route;
  /** False if the text may be no name: then rules are applied, and the default decision is not. */
  readonly surely: boolean;
}

/** Arguments of a tool that come from the config. */
export interface ConfiguredArguments {
  /** Used where the client sends none. */
  readonly defaults: JsonObject;
  /** Replace what the client sends. */
  readonly fixed: JsonObject;
}

/** A notification: to a client, or from one. */
export interface Notice {
  readonly method: string;
  readonly params?: JsonObject;
}

/** The key of the gateway's approval request among the input requests of a round. */
export const APPROVAL_KEY = "cardea/approval";

/** The key of the gateway's request to sign in among the input requests of a round. */
export const SIGN_IN_KEY = "cardea/sign-in";

/** The client's answers to an earlier `input_required`, by the keys of its requests. */
export interface InputResponses {
  readonly responses: JsonObject;
  /**
   * JSON-RPC errors of requests that the client refused or does not support, by the same keys. A legacy server gets
   * the error as the response to its request, even where `responses` has a substitute; a modern server gets
   * `responses` only.
   */
  readonly refusals?: Readonly<Record<string, RpcError>>;
  /** The keys of requests to which no answer came in time; `responses` or `refusals` have a substitute. */
  readonly unanswered?: ReadonlySet<string>;
  /** As the host sent it; only outside the middleware that seals states. */
  readonly sealedState?: string;
  /** Only inside that middleware. */
  readonly state?: RoundState;
  /** Only inside that middleware, where a sealed state opened. Without it the responses are a mere claim. */
  readonly round?: ResumedRound;
}

/** The proof that a call continues one that ended with a question. */
export interface ResumedRound {
  /** Unique for each question, over all processes. */
  readonly id: string;
  /** The first use in this process: the call was paid for, and its server may have work under way for it. */
  readonly isFirst: boolean;
}

/** The round of a call that the gateway itself continues. */
export const OWN_ROUND: ResumedRound = { id: "", isFirst: true };

/** Whether the call continues an earlier one, which paid, and under which others may wait for it. */
export const isResumed = ({ inputResponses }: Call): boolean => inputResponses?.round?.isFirst === true;

/** Cache lifetime and scope of a result (2026-07-28: server/utilities/caching). */
export interface Freshness {
  readonly ttlMs: number;
  readonly scope: "public" | "private";
}

/** For results that must not be cached. */
export const NOT_CACHEABLE: Freshness = { ttlMs: 0, scope: "private" };

/** The freshness of a whole by that of its parts: the shortest time, and public where all are; without parts none. */
export const mergedFreshness = (parts: readonly Freshness[]): Freshness =>
  parts.length === 0
    ? NOT_CACHEABLE
    : {
        ttlMs: Math.min(...parts.map(({ ttlMs }) => ttlMs)),
        scope: parts.every(({ scope }) => scope === "public") ? "public" : "private",
      };

/** The outcome of a call. A JSON-RPC error of the server is a reply; it is not thrown. */
export type Reply =
  | {
      readonly kind: "result";
      readonly result: Payload;
      readonly freshness?: Freshness;
      /** The refusal word, when the gateway itself refused the call. */
      readonly refusal?: string;
    }
  | {
      readonly kind: "error";
      readonly error: RpcError;
      readonly refusal?: string;
      /** OAuth scopes that would allow the call; HTTP responses name them in `WWW-Authenticate`. */
      readonly scopes?: readonly string[];
    }
  | {
      readonly kind: "input_required";
      readonly requests: JsonObject;
      /** As the host receives it; only outside the middleware that seals states. */
      readonly sealedState?: string;
      /** Only inside that middleware. */
      readonly state?: RoundState;
      /**
       * Whether the gateway itself waits for something else than answers: the call is made again at once, and the round counts for no
       * limit. `stopping`: this process ends, and the call can be made again at another one, or at the next.
       */
      readonly isWaiting?: true | "stopping";
      /** Reports requests that are no longer pending; absent if the gateway cannot know. */
      readonly open?: OpenRequests;
    };

/** The input requests of one round while the server waits for the answers. */
export interface OpenRequests {
  /**
   * Calls `gone` with the key of each request that is no longer pending: the server cancelled it, answered the call
   * without it, or disconnected. Past ones are reported synchronously. The returned function unsubscribes.
   */
  watch(gone: (key: string) => void): () => void;
}

/** Runs a call. Never throws synchronously; failures are rejections. */
export type Handler = (call: Call) => Promise<Reply>;
/** Wraps a handler in another. */
export type Middleware = (next: Handler) => Handler;

/** Observes calls: it changes neither the call nor the reply, and does not throw. */
export interface Observer {
  /** Names it where the layers of a call are listed. */
  readonly name: string;
  /** Before the call is passed on. */
  readonly onStart?: (call: Call) => void;
  /** After the reply; `ms` since `onStart`. */
  readonly onEnd: (call: Call, reply: Reply, ms: number) => void;
}

/** One middleware for all `observers`; one per observer would cost 0.2 µs a call each. Rejections are not observed. */
export function observerMiddleware(observers: readonly Observer[]): Middleware {
  return (next) =>
    function observed(call) {
      const start = performance.now();
      for (const observer of observers) observer.onStart?.(call);
      return next(call).then((reply) => {
        const ms = performance.now() - start;
        for (const observer of observers) observer.onEnd(call, reply, ms);
        return reply;
      });
    };
}

/** Wraps `handler`; the first middleware in the list is the outermost. */
export function compose(middleware: readonly Middleware[], handler: Handler): Handler {
  return middleware.reduceRight((next, wrap) => wrap(next), handler);
}

/**
 * The state of one round of a call, which hosts carry, sealed (resilience/sealed-state.ts). Each layer writes and reads its own member and leaves the others alone. What is read
 * here was written here: hosts cannot forge a sealed state, and what a server sends is never anything but `server`.
 */
export interface RoundState {
  /** The server's own `requestState` (2026-07-28: basic/patterns/mrtr), returned to it as it was. */
  readonly server?: string;
  /** Token of the call that is parked for a legacy server. */
  readonly parked?: string;
  /** Ids of the links that the person was sent to (2025-11-25: error -32042); the call is then made again. */
  readonly links?: readonly string[];
  readonly policy?: PolicyRoundState;
  /** The host was asked for its roots before the call is sent; `answer`: in an earlier round. */
  readonly roots?: { readonly answer?: RootsAnswer };
  /** The question that led the person to a sign-in, and how many of them there were. */
  readonly signIn?: { readonly id: string; readonly round: number };
}

/** What a host answers to `roots/list`. */
export type RootsAnswer = { readonly result: JsonObject } | { readonly error: RpcError };

/** What the policy must know again. */
export interface PolicyRoundState {
  /**
   * The identity of the rule that asked for approval, the single use of the answer, the digest of the call that was shown, and whether not all
   * of it was.
   */
  readonly asked?: {
    readonly rule: string;
    readonly nonce: string;
    readonly call: string;
    readonly isCut?: boolean;
  };
  /** The approval by another person that the call waits for. */
  readonly waits?: WaitingRound;
  /** The identity of the rule whose approval was given in an earlier round. */
  readonly approved?: string;
  /** Questions of this round that the policy refused; they are answered together with the rest. */
  readonly refused?: Readonly<Record<string, QuestionKind>>;
  /** How many rounds of the server's questions there have been. */
  readonly rounds: number;
}

/** An approval by another person, as the rounds of its call carry it: it is opened again where no process knows it. */
interface WaitingRound {
  /** Also the single use of its decision. */
  readonly id: string;
  /** The identity of the rule. */
  readonly rule: string;
  /** The digest of the call that is shown. */
  readonly call: string;
  /** ms since 1970. */
  readonly at: number;
  readonly expiresAt: number;
  /** Whether only this process knows it. */
  readonly isLocal: boolean;
}

/** The token under which the sender of `params` receives progress; undefined if it asks for none. */
export function progressTokenOf(params: JsonObject | undefined): MessageId | undefined {
  const token = objectAt(params, "_meta")?.[META.progressToken];
  return isProgressToken(token) ? token : undefined;
}

/** The last progress of one request; `progress` must increase. */
export class ProgressFilter {
  #last: JsonNumber | undefined;

  /** False if `progress` is no higher than in an earlier notification. */
  isIncreasing({ params }: Notice): boolean {
    const value = params?.progress;
    // An invalid value is left to the host to refuse.
    if (!isNumber(value)) return true;
    if (this.#last !== undefined && compareNumbers(value, this.#last) <= 0) return false;
    this.#last = value;
    return true;
  }
}

/** The method of a progress notification. */
export const PROGRESS_METHOD = "notifications/progress";
