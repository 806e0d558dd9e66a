/** What does the policy evaluate, and what does it decide? The input of rules, its facts, and the decision. */
import type { InteractionKind, RuleConfig } from "../../config/config.js";
import type { Call, Route } from "../../core/call.js";
import type { Client } from "../../core/client.js";
import { PARAMS } from "../../core/members.js";
import { type JsonObject, objectAt } from "../../wire/json.js";
import type { Facts } from "./expression.js";
import { nameForRules } from "./route-readings.js";

/** What the policy decides on one input. */
export interface Decision {
  readonly effect: RuleConfig["effect"];
  /** The rule that decided; absent where none matched and the default did. */
  readonly rule?: RuleConfig;
  /** Why the rule's expression could not be answered, where it could not; it was decided against the caller. */
  readonly failed?: string;
  /** Rules that redact by other readings of the URI; what they take out is taken out too. */
  readonly redacting?: readonly RedactingRule[];
}

/** A rule with the effect `redact`. */
export type RedactingRule = RuleConfig & { readonly redact: NonNullable<RuleConfig["redact"]> };
/** Whether a rule redacts. */
export const redacts = (rule: RuleConfig): rule is RedactingRule =>
  rule.effect === "redact" && rule.redact !== undefined;

/** What is evaluated: a call, or a question of a server. */
export interface PolicyInput {
  readonly on: InteractionKind;
  readonly route: Route;
  readonly client: Client;
  /**
   * The arguments of the call; nothing while only a list is shown, and where a question belongs to no call whose
   * arguments are known.
   */
  readonly args?: unknown;
  /** The parameters of the server's question. */
  readonly request?: JsonObject;
  /** Only rules that name the target may decide; an unclear rule does not name it. */
  readonly onlyNamedTargets?: boolean;
}

/**
 * The arguments as rules see them: those of a tool or prompt, an object; and those of a method that MCP does not define,
 * which may be anything. In what is completed or read a member of that name means nothing to a server.
 */
export function argsOf({ method, params }: Pick<Call, "method" | "params">): unknown {
  const hasNone = PARAMS.get(method)?.names.has("arguments") === false;
  return hasNone || params.arguments === undefined ? {} : params.arguments;
}

/** The facts that conditions see. */
export function factsOf({ route, client, args, request }: PolicyInput): Facts {
  const name = nameForRules(route);
  return {
    tool: route.kind === "tools" ? name : "",
    server: route.upstream,
    target: name,
    args: args ?? {},
    principal: client.principal,
    annotations: objectAt(route.item, "annotations") ?? {},
    request: request ?? {},
  };
}
