/** Asks the person at the host before a call goes on, in the words every era has for it: an elicitation. */
import { createHash } from "node:crypto";
import { LRUCache } from "lru-cache";
import type { RuleConfig } from "../config/config.js";
import { APPROVAL_KEY, type Call, type Reply, type Route } from "../core/call.js";
import { GatewayError } from "../core/errors.js";
import { upTo } from "../core/up-to.js";
import { escapeHidden } from "../telemetry/escape.js";
import { canonicalText } from "../wire/canonical.js";
import { isObject, objectAt, stringAt, without } from "../wire/json.js";
import { writeJson } from "../wire/json-text.js";
import type { RoundState, RoundStates } from "./round-state.js";
import { argsOf } from "./rules/rule-book.js";

const KEPT = 10_000;
/** Characters of all arguments, and of one text among them: what comes first must not push out of sight what follows. */
const LONGEST_SHOWN = 4_000;
const LONGEST_TEXT = 200;

export class Approvals {
  /** Answers that were used: each lets one call through, and how long one can be sent is for the seal to say. */
  readonly #spent = new LRUCache<string, true>(upTo(KEPT));
  /** Approvals that hold for a time, by rule, principal and call. */
  readonly #remembered = new LRUCache<string, true>(upTo(KEPT));

  readonly #states: Pick<RoundStates, "write">;

  constructor(states: Pick<RoundStates, "write">) {
    this.#states = states;
  }

  isRemembered(rule: RuleConfig, call: Call, route: Route): boolean {
    return rule.rememberMs !== undefined && this.#remembered.has(digest(rule, call, route));
  }

  /** The question, as the reply to the call; `nonce` is the one use of its answer. */
  ask(rule: RuleConfig, call: Call, route: Route, nonce: string): Reply {
    const asked = { rule: rule.name, nonce };
    return {
      kind: "input_required",
      requests: {
        [APPROVAL_KEY]: {
          method: "elicitation/create",
          params: {
            mode: "form",
            message: question(rule, call, route),
            requestedSchema: { type: "object", properties: {} },
          },
        },
      },
      state: this.#states.write({ asked, rounds: 0 }),
    };
  }

  /**
   * Takes the answer to the question, and returns whether it is yes.
   *
   * @throws GatewayError `state_rejected` when the answer was used before.
   */
  take(rule: RuleConfig, call: Call, route: Route, asked: NonNullable<RoundState["asked"]>): boolean {
    if (asked.rule !== rule.name || this.#spent.has(asked.nonce)) {
      throw new GatewayError(
        "state_rejected",
        "downstream",
        "this approval does not fit the call, or was used",
      );
    }
    this.#spent.set(asked.nonce, true);
    if (stringAt(objectAt(call.answers?.responses, APPROVAL_KEY), "action") !== "accept") return false;
    if (rule.rememberMs !== undefined) {
      this.#remembered.set(digest(rule, call, route), true, { ttl: rule.rememberMs });
    }
    return true;
  }
}

/** `elicitation: {}` means forms; a host that can only show URLs cannot show ours. */
export function canAsk({ client }: Call): boolean {
  const elicitation = objectAt(client.capabilities, "elicitation");
  if (elicitation === undefined) return false;
  return !Object.hasOwn(elicitation, "url") || Object.hasOwn(elicitation, "form");
}

/** One approval holds for one principal, one target and one set of arguments. */
function digest(rule: RuleConfig, call: Call, route: Route): string {
  const what = [rule.name, call.client.principal.id, call.method, route.upstream, route.target];
  return createHash("sha256")
    .update(writeJson(what))
    .update(canonicalText(argsOf(call)))
    .digest("base64url");
}

/** A text that is too long ends with how much of it is missing; everything else stays. */
const shortened = <Value>(value: Value, longest: number): Value | string =>
  typeof value === "string" && value.length > longest
    ? `${value.slice(0, longest)}… (${value.length - longest} more characters, which are not shown)`
    : value;

/** Everything that could fool the eye of the person is written as an escape. */
function question(rule: RuleConfig, call: Call, route: Route): string {
  // What is fixed is no choice of the caller's, and may be a key that nobody at the host should see.
  const given = argsOf(call);
  const args = isObject(given) ? without(given, Object.keys(route.given?.fixed ?? {})) : given;
  const text = escapeHidden(writeJson(args, undefined, (value) => shortened(value, LONGEST_TEXT)));
  const shown = shortened(text, LONGEST_SHOWN);
  const why = rule.message === undefined ? "" : `${rule.message}\n`;
  return `${why}Allow "${escapeHidden(route.exposed)}" of server "${route.upstream}" with these arguments?\n${shown}`;
}
