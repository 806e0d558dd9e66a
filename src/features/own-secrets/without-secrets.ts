/** What calls to a server and its replies are without secrets that they must not carry. */
import type { Call, InputResponses, Middleware, Notice, Reply } from "../../core/call.js";
import type { MessageRedaction } from "../../core/call-policy.js";
import { GatewayError } from "../../core/errors.js";
import { withConfiguredArguments } from "../../routing/configured-arguments.js";
import { decodeHeaderValue, encodeHeaderValue } from "../../wire/mirrored-headers.js";
import { Payload } from "../../wire/payload.js";
import type { Direction } from "./metrics.js";
import type { SecretValues } from "./secret-values.js";

/** The secrets that messages of one server must not carry. */
export interface SecretsAt {
  /** Those of other servers. */
  readonly toServer: SecretValues;
  /** Those of all servers, its own too. */
  readonly toHost: SecretValues;
  readonly onRemoved: (direction: Direction) => void;
}

/** Outermost in the stack of a server: caches and checks of results see what the server has sent. */
export function withoutSecrets(secrets: SecretsAt): Middleware {
  return (next) =>
    async function withoutSecrets(call) {
      let reply: Reply;
      try {
        reply = await next(cleanCall(call, secrets));
      } catch (error) {
        throw cleanRefusal(error, secrets);
      }
      return cleanReply(reply, secrets);
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
    // What the config itself adds for this server may be the secret of another one.
    params: params === call.params ? params : withConfiguredArguments({ ...call, params }).params,
    ...(inputResponses !== undefined && { inputResponses: cleanAnswers(inputResponses, secrets) }),
    ...(extraHeaders !== undefined && { extraHeaders: cleanHeaders(extraHeaders, secrets) }),
  };
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
  { toServer: values }: SecretsAt,
): Readonly<Record<string, string>> {
  const clean = Object.entries(headers).map(([name, value]) => {
    const text = decodeHeaderValue(value) ?? value;
    const left = values.text(text);
    return [name, left === text ? value : encodeHeaderValue(left)] as const;
  });
  return Object.fromEntries(clean);
}

const cleanNotice = (notice: Notice, secrets: SecretsAt): Notice =>
  notice.params === undefined ? notice : { ...notice, params: toHost(notice.params, secrets) };

function cleanReply(reply: Reply, secrets: SecretsAt): Reply {
  switch (reply.kind) {
    case "result": {
      if (!secrets.toHost.mayBeIn(reply.result)) return reply;
      // Also where nothing was found: the text may hold what parsing drops, the first of two members of one name.
      return { ...reply, result: Payload.ofObject(toHost(reply.result.object, secrets)) };
    }
    case "error":
      return { ...reply, error: toHost(reply.error, secrets) };
    case "input_required":
      return { ...reply, requests: toHost(reply.requests, secrets) };
  }
}

/** A refusal may quote its server. */
function cleanRefusal(error: unknown, secrets: SecretsAt): unknown {
  if (!(error instanceof GatewayError)) return error;
  const message = secrets.toHost.text(error.message);
  if (message === error.message) return error;
  secrets.onRemoved("to_host");
  return new GatewayError(error.code, error.source, message, error.options);
}

const toHost = <Value>(value: Value, secrets: SecretsAt): Value =>
  removed(value, secrets.toHost, () => secrets.onRemoved("to_host"));

const toServer = <Value>(value: Value, secrets: SecretsAt): Value =>
  removed(value, secrets.toServer, () => secrets.onRemoved("to_server"));

function removed<Value>(value: Value, values: SecretValues, onRemoved: () => void): Value {
  const clean = values.json(value);
  if (clean !== value) onRemoved();
  return clean;
}
