/** What calls to a server and its replies are without secrets that they must not carry. */
import { isDeepStrictEqual } from "node:util";
import type { Call, InputResponses, Middleware, Notice, Reply } from "../../core/call.js";
import type { MessageRedaction } from "../../core/call-policy.js";
import { GatewayError } from "../../core/errors.js";
import { configuredArgumentsOf } from "../../routing/configured-arguments.js";
import { nowOrInSteps, type Steps, Work } from "../../runtime/cooperative-yield.js";
import { type JsonObject, objectAt } from "../../wire/json.js";
import { decodeHeaderValue, encodeHeaderValue } from "../../wire/mirrored-headers.js";
import { Payload } from "../../wire/payload.js";
import type { Direction } from "./metrics.js";
import type { SecretValues } from "./secret-values.js";

/** The secrets that messages of one server must not carry. */
export interface SecretsAt {
  /** It may have those that it is given itself. */
  readonly server: string;
  /** Of the config, and tokens of sign-ins. */
  readonly values: readonly SecretValues[];
  readonly onRemoved: (direction: Direction) => void;
}

/** Outermost in the stack of a server: caches and checks of results see what the server has sent. */
export function withoutSecrets(secrets: SecretsAt): Middleware {
  return (next) => {
    async function cleaned(call: Call): Promise<Reply> {
      let reply: Reply;
      try {
        reply = await next(cleanCall(call, secrets));
      } catch (error) {
        throw cleanRefusal(error, secrets);
      }
      return cleanReply(reply, secrets);
    }
    return function withoutSecrets(call) {
      // Tokens may come later: until then a call costs nothing.
      return secrets.values.every(({ isEmpty }) => isEmpty) ? next(call) : cleaned(call);
    };
  };
}

/** The same for messages that belong to no running call. */
export const messagesWithoutSecrets = (secrets: SecretsAt): MessageRedaction => ({
  notice: (notice) => cleanNotice(notice, secrets),
  question: async (question) => toHost(question, secrets),
  answer: async (answer) => toServer(answer, secrets),
});

function cleanCall(call: Call, secrets: SecretsAt): Call {
  const { inputResponses, extraHeaders } = call;
  const params = toServer(call.params, secrets);
  return {
    ...call,
    notify: (notice) => call.notify(cleanNotice(notice, secrets)),
    params: params === call.params ? params : withOwnArguments(call, params),
    ...(inputResponses !== undefined && { inputResponses: cleanAnswers(inputResponses, secrets) }),
    ...(extraHeaders !== undefined && { extraHeaders: cleanHeaders(extraHeaders, secrets) }),
  };
}

/** What the config itself gives this tool, as fixed or default arguments, may be the secret of another server. */
function withOwnArguments(call: Call, clean: JsonObject): JsonObject {
  const args = objectAt(call.params, "arguments");
  const given = configuredArgumentsOf(call);
  if (args === undefined || given === undefined) return clean;
  const configured = { ...given.defaults, ...given.fixed };
  const own = Object.entries(args).filter(
    ([key, value]) => Object.hasOwn(configured, key) && isDeepStrictEqual(value, configured[key]),
  );
  return { ...clean, arguments: { ...objectAt(clean, "arguments"), ...Object.fromEntries(own) } };
}

function cleanAnswers(answers: InputResponses, secrets: SecretsAt): InputResponses {
  const { responses, refusals } = answers;
  return {
    ...answers,
    responses: toServer(responses, secrets),
    ...(refusals !== undefined && { refusals: toServer(refusals, secrets) }),
  };
}

function cleanHeaders(
  headers: Readonly<Record<string, string>>,
  { values, server }: SecretsAt,
): Readonly<Record<string, string>> {
  const clean = Object.entries(headers).map(([name, value]) => {
    const text = decodeHeaderValue(value) ?? value;
    const left = values.reduce((rest, each) => each.text(rest, server), text);
    return [name, left === text ? value : encodeHeaderValue(left)] as const;
  });
  return Object.fromEntries(clean);
}

const cleanNotice = (notice: Notice, secrets: SecretsAt): Notice =>
  notice.params === undefined ? notice : { ...notice, params: toHost(notice.params, secrets) };

function cleanReply(reply: Reply, secrets: SecretsAt): Reply | Promise<Reply> {
  switch (reply.kind) {
    case "result":
      return nowOrInSteps(cleanResult(reply, secrets));
    case "error":
      return { ...reply, error: toHost(reply.error, secrets) };
    case "input_required":
      return { ...reply, requests: toHost(reply.requests, secrets) };
  }
}

function* cleanResult(reply: Extract<Reply, { kind: "result" }>, secrets: SecretsAt): Steps<Reply> {
  const work = new Work();
  const found: SecretValues[] = [];
  for (const values of secrets.values) if (yield* values.mayBeIn(reply.result, work)) found.push(values);
  if (found.length === 0) return reply;
  const whole = reply.result.object;
  let clean = whole;
  for (const values of found) clean = yield* values.jsonInSteps(clean, undefined, work);
  if (clean !== whole) secrets.onRemoved("to_host");
  // Also where nothing was found: the text may hold what parsing drops, the first of two members of one name.
  return { ...reply, result: Payload.ofObject(clean) };
}

/** A refusal may quote its server. */
function cleanRefusal(error: unknown, secrets: SecretsAt): unknown {
  if (!(error instanceof GatewayError)) return error;
  const message = secrets.values.reduce((rest, each) => each.text(rest), error.message);
  if (message === error.message) return error;
  secrets.onRemoved("to_host");
  return new GatewayError(error.code, error.source, message, error.options);
}

const toHost = <Value>(value: Value, secrets: SecretsAt): Value =>
  removed(value, undefined, "to_host", secrets);

const toServer = <Value>(value: Value, secrets: SecretsAt): Value =>
  removed(value, secrets.server, "to_server", secrets);

function removed<Value>(
  value: Value,
  receiver: string | undefined,
  direction: Direction,
  { values, onRemoved }: SecretsAt,
): Value {
  const clean = values.reduce((rest, each) => each.json(rest, receiver), value);
  if (clean !== value) onRemoved(direction);
  return clean;
}
