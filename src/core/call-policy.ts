/** What the gateway asks of what decides about calls: whether one may be made, what is hidden or redacted, how long it may take, and why. */
import type { JsonObject } from "../wire/json.js";
import type { Call, Middleware, Notice, Route } from "./call.js";
import type { Client } from "./client.js";

/** What decides about the calls of one config: middlewares, and answers for catalog, sessions and operator. */
export interface CallPolicy {
  /** Evaluates calls and questions of servers. Stands below `errorBoundary` and `sealedState`. */
  readonly access: Middleware;
  /** Right below `access`: rates, places. */
  readonly limits: Middleware;
  /** The same limits with counts of their own, for calls that the gateway answers itself: none uses up a tool's. */
  readonly ownLimits: Middleware;
  /**
   * What `server` asks of `client` when no call is under way that it must belong to, as it may be asked; anything that
   * the client sees of the server may have caused it: `targets`.
   * @throws GatewayError `denied`, with the words for the server, where it may not
   */
  question(client: Client, server: string, targets: readonly Route[], question: JsonObject): JsonObject;
  /** What is redacted in messages of `server` to `client` that belong to no running call; undefined where nothing is. */
  redactionOutsideCalls(client: Client, server: string): MessageRedaction | undefined;
  /** For the catalog; undefined where nothing is hidden, so that all clients share their lists. */
  readonly visible: ((client: Client, route: Route) => boolean) | undefined;
  /**
   * Whether a client may see something of a server whose lists are not known yet; `start` has the beginning of its name. In doubt
   * true; undefined where nothing is hidden.
   */
  readonly mayShow: ((client: Client, start: Route) => boolean) | undefined;
  /** Logs a call of a target that is hidden from its client. */
  readonly recordHidden: (call: Call, route: Route) => void;
  /** Whether a client may receive updates of a resource; undefined where nothing is refused. */
  readonly maySubscribe: ((client: Client, route: Route) => boolean) | undefined;
  /** The timeout that a limit sets for this call, in ms; for `deadline`. */
  readonly timeoutMs: ((call: Call) => number | undefined) | undefined;
  /**
   * What would become of a call, and why; nothing is called and nothing spent.
   *
   * @param knowsGroups whether the groups and claims of the call's principal are those that it has
   * @param after the targets of calls that are supposed to have been made before, in the same conversation. Default: none
   */
  explain(call: Call, knowsGroups: boolean, after?: readonly Route[]): Explanation;
  /** What becomes of the calls of a tool that `client` sees, whatever their arguments; limits are left out. */
  outlook(client: Client, route: Route): CallOutlook;
}

/** What becomes of the calls of one tool. */
export interface CallOutlook {
  /** `depends`: on the arguments. */
  readonly effect: "allow" | "deny" | "approve" | "depends";
  /** The rule that decides, or of several the first that does not allow; absent for the default. */
  readonly rule?: string;
  /** Of that rule. */
  readonly message?: string;
}

/** What a rule does. */
type RuleEffect = "allow" | "deny" | "approve" | "redact" | "hide";

/** Why a call is allowed or refused, for `cardea explain`. */
export interface Explanation {
  /** `depends_on_groups`: on groups of the principal, which are not known. */
  readonly effect: RuleEffect | "depends_on_groups";
  /** The rule that decides, or `default`. */
  readonly rule: string;
  readonly message?: string;
  readonly visible: boolean;
  readonly rules: readonly {
    readonly rule: string;
    /** `observe`: of a constraint that lets the call through, and records it. */
    readonly effect: RuleEffect | "observe";
    readonly on: "call" | "sampling" | "elicitation" | "roots";
    readonly matches: boolean;
    /** Whether this is the one that decided. */
    readonly decides: boolean;
    readonly why: string;
    /** The target that was evaluated, where a method names several. */
    readonly of?: string;
  }[];
  readonly limits: readonly {
    readonly limit: string;
    readonly per: "principal" | "session" | "server" | "tool" | "all";
    /** How long until a call would be let through; 0 for now. */
    readonly waitMs: number;
    readonly timeoutMs?: number;
    readonly concurrency?: number;
  }[];
}

/** Takes out what rules redact from the messages of one server to one client. */
export interface MessageRedaction {
  /** Undefined where nothing is left that a host could read. */
  notice(notice: Notice): Notice | undefined;
  /** A question, with its method and parameters. */
  question(question: JsonObject): Promise<JsonObject>;
  /** The answer of the host to a question. */
  answer(answer: JsonObject): Promise<JsonObject>;
}

/** Several, one after the other; answers pass them in the opposite order. Undefined where there is none. */
export function inSequence(
  redactions: readonly (MessageRedaction | undefined)[],
): MessageRedaction | undefined {
  const [first, ...others] = redactions.flatMap((one) => one ?? []);
  if (first === undefined) return undefined;
  return others.reduce<MessageRedaction>(
    (before, next) => ({
      notice(notice) {
        const left = before.notice(notice);
        return left === undefined ? undefined : next.notice(left);
      },
      question: async (question) => next.question(await before.question(question)),
      answer: async (answer) => before.answer(await next.answer(answer)),
    }),
    first,
  );
}
