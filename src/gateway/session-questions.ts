/** What a server may ask of a session when no call is under way: judged by the policy in effect, and shown while it is open. */
import type { Client, ClientDirectory } from "../core/client.js";
import type { PendingQuestions } from "../telemetry/pending-questions.js";
import type { JsonObject } from "../wire/json.js";

/** The question of `server` as `client` may be asked it. @throws GatewayError where it may not be asked. */
export type EvaluateQuestion = (server: string, client: Client, question: JsonObject) => JsonObject;

/** `directory` as `server` may use it. */
export function withQuestionPolicy(
  server: string,
  directory: ClientDirectory,
  evaluateQuestion: EvaluateQuestion,
  pendingQuestions: Pick<PendingQuestions, "add">,
): ClientDirectory {
  return {
    find(affinity) {
      const clientChannel = directory.find(affinity);
      if (clientChannel === undefined) return undefined;
      return {
        ...clientChannel,
        async request(question, signal) {
          const evaluated = evaluateQuestion(server, clientChannel.client, question);
          const closeQuestion = pendingQuestions.add(server, clientChannel.client, evaluated);
          try {
            return await clientChannel.request(evaluated, signal);
          } finally {
            closeQuestion();
          }
        },
      };
    },
  };
}
