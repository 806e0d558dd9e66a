/** The questions that servers may ask of a client, and how they are put so that a person knows who asks. */
import { isObject, type JsonObject, objectAt, stringAt, without } from "../../wire/json.js";
import { META } from "../../wire/names.js";

/**
 * Only while one of these is under way may a client be asked (2026-07-28, basic/patterns/mrtr; for what a task asks
 * 2025-11-25, basic/utilities/tasks, "Input Required Status").
 */
export const INTERACTIVE_METHODS: ReadonlySet<string> = new Set([
  "tools/call",
  "prompts/get",
  "resources/read",
  "tasks/result",
]);

export interface Presentation {
  /** How a person knows the server. */
  readonly displayName: string;
  /** Whether clients see other servers beside this one, so that they cannot tell by themselves who asks. */
  readonly aggregated: boolean;
}

/**
 * The question `{ method, params }` as a client may get it. Where servers are aggregated a person must be told
 * which one asks (2026-07-28, client/elicitation), and the context of "this server", which for the client is all
 * of them, is not for one of them to see.
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

/** How a person knows the server: by its own title, and by the key that the config gave it, which it cannot forge. */
export function displayNameOf(server: string, serverInfo: JsonObject): string {
  const title = stringAt(serverInfo, "title");
  return title === undefined || title === server ? server : `${title} (${server})`;
}

/**
 * That a question could be answered by a task, and tokens, belong to the hop between server and gateway; the rest
 * of it is the client's. Which of its tasks it comes from says nothing to a client that has none: `task` is false.
 */
export function withoutHopMetadata(params: JsonObject, task: boolean): JsonObject {
  const meta = objectAt(params, "_meta");
  const hop = task ? [META.progressToken] : [META.progressToken, META.relatedTask];
  const kept = meta === undefined ? undefined : without(meta, hop);
  const rest = without(params, ["task", "_meta"]);
  return kept === undefined || Object.keys(kept).length === 0 ? rest : { ...rest, _meta: kept };
}
