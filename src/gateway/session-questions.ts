/** Which questions a server may send to a session while no call is running: the policy in effect decides. */
import type { Client, ClientChannel, ClientDirectory } from "../core/client.js";
import type { PendingQuestions } from "../telemetry/pending-questions.js";
import type { JsonObject } from "../wire/json.js";

/**
 * Rewrites a question of `server` to the form that the policy lets `client` see.
 * @throws GatewayError when the policy refuses the question.
 */
export type EvaluateQuestion = (server: string, client: Client, question: JsonObject) => JsonObject;

/** The sessions of all edges. Servers start before the edges do, and look sessions up in it while they run. */
export class SessionDirectory implements ClientDirectory {
  readonly #directories: ClientDirectory[] = [];

  add(directory: ClientDirectory): void {
    this.#directories.push(directory);
  }

  find(affinity: string): ClientChannel | undefined {
    for (const directory of this.#directories) {
      const found = directory.find(affinity);
      if (found !== undefined) return found;
    }
    return undefined;
  }
}

/** `directory` for `server`: each question passes `evaluateQuestion` and counts as pending until it is answered. */
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
