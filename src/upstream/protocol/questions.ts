/** When may a server ask a client questions, and how are they presented so that the user knows which server asks? */
import { isObject, type JsonObject, objectAt, stringAt, without } from "../../wire/json.js";
import { META } from "../../wire/names.js";

/**
 * The requests while which a client may be asked (2026-07-28, basic/patterns/mrtr; for questions of tasks 2025-11-25,
 * basic/utilities/tasks, "Input Required Status").
 */
export const INTERACTIVE_METHODS: ReadonlySet<string> = new Set([
  "tools/call",
  "prompts/get",
  "resources/read",
  "tasks/result",
]);

/** How a question names its server. */
export interface Presentation {
  /** The name of the server for users. */
  readonly displayName: string;
  /** Whether clients see other servers beside this one, so that a question must name its server. */
  readonly aggregated: boolean;
}

/**
 * The question `{ method, params }` as a client gets it. Where servers are aggregated, an elicitation names its server
 * (2026-07-28, client/elicitation), and a sampling request gets no context of "this server", which for the client
 * would be that of all servers.
 */
export function presentQuestion(question: JsonObject, { displayName, aggregated }: Presentation): JsonObject {
  const method = stringAt(question, "method");
  const params = objectAt(question, "params");
  if (!aggregated || params === undefined) return question;
  if (method === "elicitation/create") {
    const message = stringAt(params, "message");
    if (message === undefined) return question;
    return { ...question, params: { ...params, message: `${displayName}: ${message}` } };
  }
  const context = params.includeContext;
  if (method !== "sampling/createMessage" || context === undefined || context === "none") return question;
  return { ...question, params: { ...params, includeContext: "none" } };
}

/** Every question of an `input_required`, by its key. */
export function presentQuestions(questions: JsonObject, presentation: Presentation): JsonObject {
  if (!presentation.aggregated) return questions;
  return Object.fromEntries(
    Object.entries(questions).map(([key, question]) => [
      key,
      isObject(question) ? presentQuestion(question, presentation) : question,
    ]),
  );
}

/** The name of a server for users: its own title with its config key, which it cannot forge. */
export function displayNameOf(server: string, serverInfo: JsonObject): string {
  const title = stringAt(serverInfo, "title");
  return title === undefined || title === server ? server : `${title} (${server})`;
}

/**
 * The params without what belongs to the hop between server and gateway: `task` and the progress token. The related
 * task is removed too where `task` is false, for a client that does not know the task.
 */
export function withoutHopMetadata(params: JsonObject, task: boolean): JsonObject {
  const meta = objectAt(params, "_meta");
  const hop = task ? [META.progressToken] : [META.progressToken, META.relatedTask];
  const kept = meta === undefined ? undefined : without(meta, hop);
  const rest = without(params, ["task", "_meta"]);
  return kept === undefined || Object.keys(kept).length === 0 ? rest : { ...rest, _meta: kept };
}
