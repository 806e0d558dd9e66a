/** What holds where no feature decides about calls: all are allowed, and no host is sent to a link that is no web page. */
import type { Call, Handler, Middleware, Reply } from "../core/call.js";
import type { CallPolicy } from "../core/call-policy.js";
import { TASK_METHODS } from "../core/methods.js";
import { isObject, type JsonObject, objectAt, stringAt } from "../wire/json.js";
import { QuestionRounds } from "./question-rounds.js";
import { noteRefused, refusedQuestion } from "./refused-questions.js";

/** A link that is not http or https could run a program or open a file; it is refused whatever the rules. */
export function isUnsafeUrl(params: JsonObject): boolean {
  if (params.mode !== "url" && params.url === undefined) return false;
  const url = stringAt(params, "url") ?? "";
  return !(URL.canParse(url) && /^https?:$/.test(new URL(url).protocol));
}

const isUnsafe = (request: JsonObject): boolean =>
  request.method === "elicitation/create" && isUnsafeUrl(objectAt(request, "params") ?? {});

/**
 * Without rules, `checked` handles only clients that a server may send to a URL, and calls that resume a round
 * that began under an earlier config, which had rules.
 */
export const onlyForUrlElicitation =
  (checked: Middleware): Middleware =>
  (next) => {
    const evaluated = checked(next);
    return function onlyForLinks(call) {
      const { elicitation } = call.client.capabilities;
      if (isObject(elicitation) && Object.hasOwn(elicitation, "url")) return evaluated(call);
      return call.inputResponses?.state?.policy === undefined ? next(call) : evaluated(call);
    };
  };

/** What the gateway asks where no feature decides. */
export function onlySafeLinks(): CallPolicy {
  const rounds = new QuestionRounds({
    permit(call, _route, _kind, request) {
      if (!isUnsafe(request)) return request;
      noteRefused(call, request, undefined);
      return undefined;
    },
    countsRounds: false,
  });
  return {
    access: onlyForUrlElicitation((next) => (call) => withSafeLinks(rounds, call, next)),
    limits: (next) => next,
    ownLimits: (next) => next,
    question(_client, server, _targets, question) {
      if (isUnsafe(question)) throw refusedQuestion(server, question);
      return question;
    },
    redactionOutsideCalls: () => undefined,
    visible: undefined,
    mayShow: undefined,
    recordHidden: () => {},
    maySubscribe: undefined,
    timeoutMs: undefined,
    explain: () => ({ effect: "allow", rule: "default", visible: true, rules: [], limits: [] }),
    outlook: () => ({ effect: "allow" }),
  };
}

async function withSafeLinks(rounds: QuestionRounds, call: Call, next: Handler): Promise<Reply> {
  const { route } = call;
  if (route === undefined) return next(call);
  const reply = await rounds.forward(call, route, next);
  return TASK_METHODS.has(call.method) ? rounds.filterTask(call, route, reply, next) : reply;
}
