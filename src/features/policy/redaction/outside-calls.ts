/** What rules that redact do to the messages of a server that belong to no running call. */
import type { Notice } from "../../../core/call.js";
import type { MessageRedaction } from "../../../core/call-policy.js";
import type { JsonObject } from "../../../wire/json.js";
import { type Redactions, redactedNotice } from "./messages.js";

/** All of `rules` together. */
export const messageRedaction = (rules: readonly Redactions[]): MessageRedaction => ({
  notice: (notice) =>
    rules.reduce<Notice | undefined>(
      (left, { results }) => (left === undefined ? undefined : redactedNotice(left, results)),
      notice,
    ),
  async question(question) {
    let requests: JsonObject = { question };
    for (const { results } of rules) requests = await results.apply(requests, "requests");
    return requests.question as JsonObject;
  },
  async answer(answer) {
    let responses: JsonObject = { answer };
    for (const { args } of rules) responses = await args.patternsOnly.apply(responses, "responses");
    return responses.answer as JsonObject;
  },
});
