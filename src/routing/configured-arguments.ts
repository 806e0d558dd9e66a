/** How a call gets the arguments that the config sets for its tool, before rules evaluate it. */
import type { Call, ConfiguredArguments, Middleware } from "../core/call.js";
import { TASK_METHODS } from "../core/methods.js";
import { CaseFoldedNames } from "../wire/case-folding.js";
import { type JsonObject, objectAt, without } from "../wire/json.js";
import { paramHeaders } from "../wire/mirrored-headers.js";

/**
 * Placed below `sealedState`, which binds what the client sent, and above everything that reads arguments.
 */
export const configuredArguments: Middleware = (next) =>
  function givenArguments(call) {
    return next(withConfiguredArguments(call));
  };

/**
 * The call with its configured arguments; the same object where there are none. A custom method that names a
 * tool gets them too, as its server may run that tool.
 */
export function withConfiguredArguments(call: Call): Call {
  const given = configuredArgumentsOf(call);
  return given === undefined || TASK_METHODS.has(call.method) ? call : withArguments(call, given);
}

/** The arguments that the config sets for the target of a call; undefined if it sets none. */
export const configuredArgumentsOf = ({ route }: Call): ConfiguredArguments | undefined =>
  route?.configuredArguments ??
  route?.namedTargets?.find((named) => named.route.configuredArguments)?.route.configuredArguments;

function withArguments(call: Call, { defaults, fixed }: ConfiguredArguments): Call {
  const { extraHeaders, route } = call;
  const params = {
    ...call.params,
    // A value that is no object is dropped: the server expects none, and fixed arguments must apply.
    arguments: { ...defaults, ...withoutDuplicates(call, fixed), ...fixed },
  };
  if (extraHeaders === undefined) return { ...call, params };
  // A header of a fixed argument is dropped, as it would contradict the argument.
  const known = paramHeaders(route?.item?.inputSchema).headers.map(({ header }) => header);
  const rest = without(extraHeaders, known) as Readonly<Record<string, string>>;
  return { ...call, params, extraHeaders: rest };
}

const foldedNames = new WeakMap<JsonObject, CaseFoldedNames>();

/**
 * The arguments of the host without members that a case-insensitive reader would take for a fixed one. A
 * member that the tool itself defines under that name stays.
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
