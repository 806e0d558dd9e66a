/** What one server sends to hosts, without the characters that no reader sees. */
import type { Middleware, Notice, Reply } from "../../core/call.js";
import type { MessageRedaction } from "../../core/call-policy.js";
import { GatewayError } from "../../core/errors.js";
import { nowOrInSteps, runAtOnce, runSteps, Work } from "../../runtime/cooperative-yield.js";
import type { JsonObject } from "../../wire/json.js";
import { Payload } from "../../wire/payload.js";
import { type Exempt, OF_MESSAGES, OF_SCHEMAS, visibleJson } from "./visible-json.js";
import { mayHaveInvisible, visibleResult } from "./visible-results.js";

/** Innermost among the layers that see the person: rules that look for texts see what hosts see. */
export const stripReplies =
  (onStripped: () => void): Middleware =>
  (next) =>
    async function stripReplies(call) {
      let reply: Reply;
      try {
        reply = await next({
          ...call,
          notify: (notice) => call.notify(visibleNotice(notice, onStripped)),
        });
      } catch (error) {
        throw visibleRefusal(error, onStripped);
      }
      return visibleReply(reply, onStripped);
    };

/** The same for messages that belong to no running call. Answers of hosts are not changed. */
export const stripMessages = (onStripped: () => void): MessageRedaction => ({
  notice: (notice) => visibleNotice(notice, onStripped),
  question: (question) => inSteps(question, OF_SCHEMAS, onStripped),
  answer: async (answer) => answer,
});

async function visibleReply(reply: Reply, onStripped: () => void): Promise<Reply> {
  switch (reply.kind) {
    case "result": {
      if (!mayHaveInvisible(reply.result)) return reply;
      const { object } = reply.result;
      const clean = nowOrInSteps(visibleResult(object, new Work()));
      const settled = clean instanceof Promise ? await clean : clean;
      if (settled === object) return reply;
      onStripped();
      return { ...reply, result: Payload.ofObject(settled) };
    }
    case "error": {
      const error = await inSteps(reply.error, OF_MESSAGES, onStripped);
      return error === reply.error ? reply : { ...reply, error };
    }
    case "input_required": {
      const requests = await inSteps(reply.requests, OF_SCHEMAS, onStripped);
      return requests === reply.requests ? reply : { ...reply, requests };
    }
  }
}

/** Notifications are not asynchronous: what takes long is left out. */
function visibleNotice(notice: Notice, onStripped: () => void): Notice {
  if (notice.params === undefined) return notice;
  const params = runAtOnce(visibleJson(notice.params, OF_MESSAGES, new Work())) as JsonObject | undefined;
  if (params === notice.params) return notice;
  onStripped();
  return { ...notice, params: params ?? { data: TOO_LONG } };
}

const TOO_LONG = "the notification is too long to be searched for invisible text";

/** A refusal may quote its server. */
function visibleRefusal(error: unknown, onStripped: () => void): unknown {
  if (!(error instanceof GatewayError)) return error;
  const message = runAtOnce(visibleJson(error.message, OF_MESSAGES, new Work()));
  if (message === error.message || typeof message !== "string") return error;
  onStripped();
  return new GatewayError(error.code, error.source, message, error.options);
}

async function inSteps<Value>(value: Value, exempt: Exempt, onStripped: () => void): Promise<Value> {
  const clean = (await runSteps(visibleJson(value, exempt, new Work()))) as Value;
  if (clean !== value) onStripped();
  return clean;
}
