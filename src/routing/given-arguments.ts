/** Puts the arguments that the config gives into a call, so that rules judge the very call that its server gets. */
import type { Call, GivenArguments } from "../core/call.js";
import type { Middleware } from "../core/handler.js";
import { TASK_METHODS } from "../core/tasks.js";
import { type JsonObject, objectAt, without } from "../wire/json.js";
import { paramHeaders } from "../wire/param-headers.js";
import { Spellings } from "../wire/spellings.js";

/** Belongs below `sealedState`, which binds what the client sent, and above everything that looks at arguments. */
export const givenArguments: Middleware = (next) =>
  function givenArguments(call) {
    return next(withGivenArguments(call));
  };

/**
 * The call as its server gets it; the very same object where the config gives it nothing. What a method that nobody
 * knows does with a tool's name and arguments is its server's secret, so it gets them like a call.
 */
export function withGivenArguments(call: Call): Call {
  const given = call.route?.given ?? call.route?.named?.find(({ route }) => route.given)?.route.given;
  return given === undefined || TASK_METHODS.has(call.method) ? call : filled(call, given);
}

function filled(call: Call, { defaults, fixed }: GivenArguments): Call {
  const { extraHeaders, route } = call;
  const params = {
    ...call.params,
    // Whatever is no object is not what the server asks for, and must not keep what is fixed from it.
    arguments: { ...defaults, ...withoutTwins(call, fixed), ...fixed },
  };
  if (extraHeaders === undefined) return { ...call, params };
  // The client cannot know that a header is about a fixed argument; that one is said by the argument alone.
  const known = paramHeaders(route?.item?.inputSchema).headers.map(({ header }) => header);
  const rest = without(extraHeaders, known) as Readonly<Record<string, string>>;
  return { ...call, params, extraHeaders: rest };
}

const spellings = new WeakMap<JsonObject, Spellings>();

/**
 * What the host sent, without members that a reader which ignores case would take for a fixed one, and for the last of the
 * two. One that the tool itself has under that name stays.
 */
function withoutTwins({ params, route }: Call, fixed: JsonObject): JsonObject {
  const sent = objectAt(params, "arguments") ?? {};
  let names = spellings.get(fixed);
  if (names === undefined) {
    names = new Spellings(Object.keys(fixed));
    spellings.set(fixed, names);
  }
  const own = objectAt(objectAt(route?.item, "inputSchema"), "properties") ?? {};
  const twins: string[] = [];
  for (const key in sent) if (names.meantBy(key) !== undefined && !Object.hasOwn(own, key)) twins.push(key);
  return without(sent, twins);
}
