/** What a server may ask of a session when no call is under way: judged by the policy in effect, and shown while it is open. */
import type { Client, ClientDirectory } from "./core/client.js";
import type { InputWaits } from "./telemetry/input-wait.js";
import type { JsonObject } from "./wire/json.js";

/** The question of `server` as `client` may be asked it. @throws GatewayError where it may not be asked. */
export type JudgeQuestion = (server: string, client: Client, question: JsonObject) => JsonObject;

/** `directory` as `server` may use it. */
export function judgedDirectory(
  server: string,
  directory: ClientDirectory,
  judge: JudgeQuestion,
  waits: Pick<InputWaits, "opened">,
): ClientDirectory {
  return {
    find(affinity) {
      const port = directory.find(affinity);
      if (port === undefined) return undefined;
      return {
        ...port,
        async ask(question, signal) {
          const judged = judge(server, port.client, question);
          const answered = waits.opened(server, port.client, judged);
          try {
            return await port.ask(judged, signal);
          } finally {
            answered();
          }
        },
      };
    },
  };
}
