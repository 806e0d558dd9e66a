/** What a rule that redacts does to calls, and to everything that comes back for them. */
import { argumentNamesOf } from "../../../core/argument-names.js";
import type { Call, InputResponses, Notice, Reply } from "../../../core/call.js";
import { GatewayError } from "../../../core/errors.js";
import { PARAMS } from "../../../core/members.js";
import type { RpcError } from "../../../wire/envelope.js";
import { isObject, type JsonObject, numberOf, objectAt, stringAt, without } from "../../../wire/json.js";
import { decodeHeaderValue, encodeHeaderValue } from "../../../wire/mirrored-headers.js";
import { HEADER } from "../../../wire/names.js";
import { Payload } from "../../../wire/payload.js";
import type { Redaction } from "./redaction.js";

/** Both directions of one rule. */
export interface Redactions {
  readonly args: Redaction;
  readonly results: Redaction;
}

/** The call as its server gets it; the very same one where nothing is taken out and nothing could be. */
export async function redactedCall(call: Call, { args, results }: Redactions): Promise<Call> {
  const heard = results.active ? { ...call, notify: redactedNotify(call.notify, results) } : call;
  if (!args.active) return heard;
  const own = await redactedOthers(call.method, await redactedParams(call.params, args, call.route), args);
  const params = call.route?.kind === "methods" ? await redactedMethod(own, args) : own;
  const { inputResponses, extraHeaders } = call;
  return {
    ...heard,
    params,
    ...(inputResponses !== undefined && {
      inputResponses: await redactedInputResponses(inputResponses, args),
    }),
    ...(extraHeaders !== undefined && { extraHeaders: await redactedHeaders(extraHeaders, args) }),
  };
}

/** Arguments of tools and prompts, those that are completed, and the answers to what a task asks. */
async function redactedParams(
  params: JsonObject,
  args: Redaction,
  route: Call["route"],
): Promise<JsonObject> {
  let changed = params;
  const replace = (key: string, value: unknown): void => {
    if (value !== changed[key]) changed = { ...changed, [key]: value };
  };
  const given = objectAt(params, "arguments");
  if (given !== undefined) replace("arguments", await redactedArguments(given, args, route));
  const completed = objectAt(params, "argument");
  if (completed !== undefined) replace("argument", await redactedCompletion(completed, args));
  const context = objectAt(params, "context");
  const before = objectAt(context, "arguments");
  if (before !== undefined) {
    const clean = await args.apply(before);
    if (clean !== before) replace("context", { ...context, arguments: clean });
  }
  const answers = objectAt(params, "inputResponses");
  if (answers !== undefined) replace("inputResponses", await args.patternsOnly.apply(answers, "responses"));
  return changed;
}

/** Paths of a tool of an HTTP API may have the listed names of arguments, and those of the API. */
async function redactedArguments(
  given: JsonObject,
  args: Redaction,
  route: Call["route"],
): Promise<JsonObject> {
  const clean = await args.apply(given);
  const names = argumentNamesOf(route?.item);
  const own = names?.toOwnIfDistinct(clean);
  if (names === undefined || !isObject(own)) return clean;
  const redacted = await args.apply(own);
  const listed = redacted === own ? clean : names.toListed(redacted);
  return isObject(listed) ? listed : clean;
}

/** Members that the method does not have; its server may read them anyway. */
async function redactedOthers(method: string, params: JsonObject, args: Redaction): Promise<JsonObject> {
  const known = PARAMS.get(method)?.names;
  if (known === undefined) return params;
  const names = Object.keys(params).filter((name) => known.has(name));
  if (names.length === Object.keys(params).length) return params;
  const rest = without(params, names);
  const clean = await args.patternsOnly.apply(rest);
  return clean === rest ? params : { ...clean, ...without(params, Object.keys(rest)) };
}

/** All parameters of a method without a target are its arguments, except those that identify something. */
async function redactedMethod(params: JsonObject, args: Redaction): Promise<JsonObject> {
  const rest = await args.apply(without(params, IDENTIFYING_PARAMS));
  const kept = IDENTIFYING_PARAMS.filter((key) => Object.hasOwn(params, key)).map(
    (key) => [key, params[key]] as const,
  );
  return { ...Object.fromEntries(kept), ...rest };
}
const IDENTIFYING_PARAMS = ["_meta", "name", "uri", "ref", "taskId"];

/** A path means the argument by its name, which must stay what it is. */
async function redactedCompletion(argument: JsonObject, args: Redaction): Promise<JsonObject> {
  const name = stringAt(argument, "name") ?? "";
  const named = { [name]: argument.value };
  const clean = Object.values(await args.apply(named))[0];
  return clean === argument.value ? argument : { ...argument, value: clean };
}

async function redactedInputResponses(answers: InputResponses, args: Redaction): Promise<InputResponses> {
  const { patternsOnly } = args;
  const refusals = Object.entries(answers.refusals ?? {}).map(
    async ([key, error]) => [key, await redactedError(error, patternsOnly)] as const,
  );
  return {
    ...answers,
    responses: await patternsOnly.apply(answers.responses, "responses"),
    ...(answers.refusals !== undefined && { refusals: Object.fromEntries(await Promise.all(refusals)) }),
  };
}

/** What no schema explains could be any argument, so that a path whose last step is its name means it. */
async function redactedHeaders(
  headers: Readonly<Record<string, string>>,
  args: Redaction,
): Promise<Readonly<Record<string, string>>> {
  const clean = Object.entries(headers).map(async ([name, value]) => {
    if (args.endsIn(name.slice(HEADER.paramPrefix.length))) {
      return [name, encodeHeaderValue(args.replacement)] as const;
    }
    const text = decodeHeaderValue(value) ?? value;
    const rest = await args.text(text);
    return [name, rest === text ? value : encodeHeaderValue(rest)] as const;
  });
  return Object.fromEntries(await Promise.all(clean));
}

/** What the host gets to see. */
export async function redactedReply(reply: Reply, results: Redaction): Promise<Reply> {
  if (!results.active) return reply;
  switch (reply.kind) {
    case "result":
      // Also where nothing was found: text may hold what parsing drops, the first of two members of one name.
      return { ...reply, result: Payload.ofObject(await redactedResult(reply.result.object, results)) };
    case "error":
      return { ...reply, error: await redactedError(reply.error, results) };
    case "input_required":
      return { ...reply, requests: await results.apply(reply.requests, "requests") };
  }
}

/** The reply; a refusal that may quote its server is thrown without what is to be taken out. */
export async function redactRefusal(reply: Promise<Reply>, each: readonly Redactions[]): Promise<Reply> {
  try {
    return await reply;
  } catch (error) {
    if (!(error instanceof GatewayError) || error.source !== "upstream") throw error;
    let { message } = error;
    for (const { results } of each) message = await results.text(message);
    throw message === error.message
      ? error
      : new GatewayError(error.code, error.source, message, error.options);
  }
}

async function redactedError(error: RpcError, redacting: Pick<Redaction, "apply">): Promise<RpcError> {
  const { code, ...rest } = error;
  return { code, ...(await redacting.apply(rest)) };
}

/** What a task came to stands inside it, and its handle must stay what it is, whatever it looks like. */
async function redactedResult(result: JsonObject, results: Redaction): Promise<JsonObject> {
  const { taskId, result: inner } = result;
  if (typeof taskId !== "string") return results.apply(result, "result");
  const own = isObject(inner) ? await results.apply(inner, "result") : inner;
  const whole = await results.apply(own === inner ? result : { ...result, result: own }, "result");
  return whole.taskId === taskId ? whole : { ...whole, taskId };
}

const redactedNotify =
  (notify: Call["notify"], results: Redaction): Call["notify"] =>
  (notice) => {
    const clean = redactedNotice(notice, results);
    if (clean !== undefined) notify(clean);
  };

/**
 * A notice that belongs to a call: sent at once, or it would come behind the result. Undefined where nothing of it is
 * left that a host could read.
 */
export function redactedNotice(notice: Notice, results: Redaction): Notice | undefined {
  const { method, params } = notice;
  if (params === undefined || !results.active) return notice;
  const clean = results.applyNow(params);
  // Too much to be looked through at once: the words go, the rest stays.
  if (clean === undefined) return noticeWithoutText(notice, results.replacement);
  if (clean === params) return notice;
  if (COUNTER_MEMBERS.some((key) => Object.hasOwn(params, key) && clean[key] !== params[key]))
    return undefined;
  const kept = KEPT_MEMBERS.filter((key) => Object.hasOwn(params, key)).map(
    (key) => [key, params[key]] as const,
  );
  return { method, params: { ...clean, ...Object.fromEntries(kept) } };
}

/** Numbers that hosts cannot do without. */
const COUNTER_MEMBERS = ["progress", "total"];
/** What the notice is about: given by the host or the gateway. */
const KEPT_MEMBERS = ["progressToken", "taskId", "level"];

function noticeWithoutText({ method, params = {} }: Notice, replacement: string): Notice | undefined {
  const { progressToken, progress, total, level } = params;
  if (method === "notifications/message") return { method, params: { level, data: replacement } };
  if (numberOf(progress) === undefined) return undefined;
  return { method, params: { progressToken, progress, ...(numberOf(total) !== undefined && { total }) } };
}
