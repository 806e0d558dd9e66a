/**
 * When may a server ask a client questions, which are well-formed, and how are they presented? The method must be one of a
 * known revision, and every JSON reader must read its members alike. Links become plain web URLs; whether they are allowed
 * is evaluated by the policy.
 */

import { membersFault, paramsFault } from "../../core/check-params.js";
import { INPUT_REQUEST, URL_ELICITATIONS } from "../../core/members.js";
import { questionKind } from "../../core/methods.js";
import type { Notification, RpcError } from "../../wire/envelope.js";
import { isObject, type JsonObject, objectAt, stringAt, without } from "../../wire/json.js";
import { writeJson } from "../../wire/json-text.js";
import { CODE, META } from "../../wire/names.js";
import type { ProtocolSettings } from "../connection.js";

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

/** A value, or what is wrong with it, as a sentence. */
type ReadResult<T> =
  | { readonly value: T; readonly fault?: undefined }
  | { readonly value?: undefined; readonly fault: string };

/** The question `{ method, params }` as it may be forwarded. */
export function readQuestion(question: unknown): ReadResult<JsonObject> {
  if (!isObject(question)) return { fault: "a question must be an object" };
  const { method, params } = question;
  const odd = membersFault(question, INPUT_REQUEST, "");
  if (odd !== undefined) return { fault: odd };
  const kind = questionKind(question);
  if (kind === undefined || typeof method !== "string") {
    return { fault: `unknown question ${quoted(method)}` };
  }
  if (params === undefined) return { value: question };
  if (!isObject(params)) return { fault: '"params" must be an object' };
  const fault = paramsFault(method, params);
  if (fault !== undefined) return { fault };
  if (kind !== "elicitation") return { value: question };
  const { mode } = params;
  if (mode !== undefined && mode !== "form" && mode !== "url") {
    return { fault: `unknown elicitation mode ${quoted(mode)}` };
  }
  const href = webUrlOf(params.url);
  // A form has no link. Hosts that would show one nevertheless have declared no capability that the policy could check.
  if (mode !== "url" && params.url !== undefined && href === undefined) return { fault: INVALID_LINK };
  return {
    value:
      href === undefined || href === params.url
        ? question
        : { ...question, params: { ...params, url: href } },
  };
}

/** All questions of one round, by their keys. */
export function readQuestions(questions: JsonObject): ReadResult<JsonObject> {
  let read = questions;
  for (const [key, question] of Object.entries(questions)) {
    const { value, fault } = readQuestion(question);
    if (fault !== undefined) return { fault };
    if (value !== question) read = { ...read, [key]: value };
  }
  return { value: read };
}

/** The error -32042 with its links as they may be shown to the user. */
export function readUrlElicitations(error: RpcError): ReadResult<RpcError> {
  const { data } = error;
  if (!isObject(data)) return { value: error };
  const odd = membersFault(data, URL_ELICITATIONS, "data.");
  if (odd !== undefined) return { fault: odd };
  const { elicitations } = data;
  if (elicitations === undefined) return { value: error };
  if (!Array.isArray(elicitations)) return { fault: '"data.elicitations" must be a list' };
  const pages: unknown[] = [];
  for (const page of elicitations as readonly unknown[]) {
    if (!isObject(page)) return { fault: '"data.elicitations" must be a list of objects' };
    const fault = paramsFault("elicitation/create", page);
    if (fault !== undefined) return { fault };
    const url = webUrlOf(page.url);
    if (url === undefined) return { fault: INVALID_LINK };
    pages.push({ ...page, url });
  }
  return { value: { ...error, data: { ...data, elicitations: pages } } };
}

/** Whether JSON readers could read a notification in two ways; then it is dropped, as it has no response. */
export function isAmbiguous(
  { method, params }: Notification,
  { server, log }: Pick<ProtocolSettings, "server" | "log">,
): boolean {
  const fault = paramsFault(method, params);
  if (fault !== undefined)
    log.debug({ server, method, reason: fault }, "an ambiguous notification was dropped");
  return fault !== undefined;
}

const INVALID_LINK = "a link must be the address of a page, by http or https";

/** The error of a call whose server sent a malformed question. */
export const invalidQuestionError = (server: string, fault: string): RpcError => ({
  code: CODE.invalidParams,
  message: `${server} asks for something that cannot be forwarded: ${fault}`,
});

/** The URL as a browser normalises it; undefined where it is not http or https. */
function webUrlOf(link: unknown): string | undefined {
  if (typeof link !== "string" || !URL.canParse(link)) return undefined;
  const { href, protocol } = new URL(link);
  return protocol === "http:" || protocol === "https:" ? href : undefined;
}

const quoted = (value: unknown): string =>
  typeof value === "string" ? writeJson(value.slice(0, 60)) : "that is no text";
