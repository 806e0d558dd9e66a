/** Puts the arguments that the config gives into a call, so that rules judge the very call that its server gets. */
import type { Call, ConfiguredArguments } from "../core/call.js";
import type { Middleware } from "../core/handler.js";
import { TASK_METHODS } from "../core/tasks.js";
import { CaseFoldedNames } from "../wire/case-folding.js";
import { type JsonObject, objectAt, without } from "../wire/json.js";
import { paramHeaders } from "../wire/param-headers.js";

/** Belongs below `sealedState`, which binds what the client sent, and above everything that looks at arguments. */
export const configuredArguments: Middleware = (next) =>
  function givenArguments(call) {
    return next(withConfiguredArguments(call));
  };

/**
 * The call as its server gets it; the very same object where the config gives it nothing. What a method that nobody
 * knows does with a tool's name and arguments is its server's secret, so it gets them like a call.
 */
export function withConfiguredArguments(call: Call): Call {
  const given =
    call.route?.configuredArguments ??
    call.route?.namedTargets?.find(({ route }) => route.configuredArguments)?.route.configuredArguments;
  return given === undefined || TASK_METHODS.has(call.method) ? call : withArguments(call, given);
}

function withArguments(call: Call, { defaults, fixed }: ConfiguredArguments): Call {
  const { extraHeaders, route } = call;
  const params = {
    ...call.params,
    // Whatever is no object is not what the server asks for, and must not keep what is fixed from it.
    arguments: { ...defaults, ...withoutDuplicates(call, fixed), ...fixed },
  };
  if (extraHeaders === undefined) return { ...call, params };
  // The client cannot know that a header is about a fixed argument; that one is said by the argument alone.
  const known = paramHeaders(route?.item?.inputSchema).headers.map(({ header }) => header);
  const rest = without(extraHeaders, known) as Readonly<Record<string, string>>;
  return { ...call, params, extraHeaders: rest };
}

const foldedNames = new WeakMap<JsonObject, CaseFoldedNames>();

/**
 * What the host sent, without members that a reader which ignores case would take for a fixed one, and for the last of the
 * two. One that the tool itself has under that name stays.
 */
function withoutDuplicates({ params, route }: Call, fixed: JsonObject): JsonObject {
  const sent = objectAt(params, "arguments") ?? {};
  let names = foldedNames.get(fixed);
  if (names === undefined) {
    names = new CaseFoldedNames(Object.keys(fixed));
    foldedNames.set(fixed, names);
  }
  const own = objectAt(objectAt(route?.item, "inputSchema"), "properties") ?? {};
  const twins: string[] = [];
  for (const key in sent) if (names.match(key) !== undefined && !Object.hasOwn(own, key)) twins.push(key);
  return without(sent, twins);
}
