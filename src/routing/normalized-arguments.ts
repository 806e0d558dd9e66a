/** In which form do rules and servers get the arguments of a host? By the names of the list, and with JSON texts parsed. */
import { argumentNamesOf, MemberGivenTwice, type MemberNames } from "../core/argument-names.js";
import type { Call, Middleware } from "../core/call.js";
import { badRequest } from "../core/errors.js";
import { nowOrInSteps, type Steps } from "../runtime/cooperative-yield.js";
import { isObject, type JsonObject, objectAt, without } from "../wire/json.js";
import { parseTextArguments, UnreadableText } from "./parse-text-arguments.js";

/** How the arguments of one server's tools are normalized. */
export interface ArgumentForm {
  /** Whether its list replaces names of the API, which hosts and configs may use too. */
  readonly replacesNames: boolean;
  /** Whether a JSON text of an argument of this tool (its own name) is parsed where the schema admits no text. */
  parsesJsonText(tool: string): boolean;
}

/** By server name. */
export type ArgumentForms = ReadonlyMap<string, ArgumentForm>;

/** Placed above `configuredArguments`, which replace what hosts send by the listed names. */
export const normalizedArguments =
  (forms: ArgumentForms): Middleware =>
  (next) =>
    function normalizedArguments(call) {
      const normalized = withNormalizedArguments(call, forms);
      return normalized instanceof Promise ? normalized.then(next) : next(normalized);
    };

/**
 * The call with normalized arguments; the same object where nothing changes.
 *
 * @throws GatewayError `bad_request` for an argument under two names, or a text that cannot be parsed
 */
export function withNormalizedArguments(call: Call, forms: ArgumentForms): Call | Promise<Call> {
  const { route, params, method } = call;
  const form = route && method === "tools/call" ? forms.get(route.upstream) : undefined;
  const given = objectAt(params, "arguments");
  const schema = objectAt(route?.item, "inputSchema");
  if (route === undefined || form === undefined || given === undefined || schema === undefined) return call;
  const asked: Asked = {
    given: without(given, Object.keys(route.configuredArguments?.fixed ?? {})),
    schema,
    names: form.replacesNames ? argumentNamesOf(route.item) : undefined,
    parses: form.parsesJsonText(route.target),
  };
  const result = refusing(route.exposed, asked);
  const made = nowOrInSteps(result);
  const withArguments = (args: JsonObject): Call =>
    args === asked.given ? call : { ...call, params: { ...params, arguments: args } };
  return made instanceof Promise ? made.then(withArguments) : withArguments(made);
}

interface Asked {
  readonly given: JsonObject;
  readonly schema: JsonObject;
  readonly names: MemberNames | undefined;
  readonly parses: boolean;
}

function* refusing(exposed: string, asked: Asked): Steps<JsonObject> {
  try {
    return yield* normalized(asked);
  } catch (error) {
    if (error instanceof MemberGivenTwice || error instanceof UnreadableText)
      throw badRequest(`"${exposed}" was not called: ${error.message}`);
    throw error;
  }
}

function* normalized({ given, schema, names, parses }: Asked): Steps<JsonObject> {
  const listed = names === undefined ? given : objectOf(names.toListed(given));
  if (!parses) return listed;
  const parsed = yield* parseTextArguments(listed, schema);
  // A parsed text may have names of the API.
  return names === undefined || parsed === listed ? parsed : objectOf(names.toListed(parsed));
}

const objectOf = (value: unknown): JsonObject => (isObject(value) ? value : {});
