/**
 * Where in a message the protocol itself writes bytes as text, in which no pattern means anything: `data` of images and
 * audio, and `blob` of resources, where such content stands (2026-07-28 and before: schema, "ContentBlock",
 * "BlobResourceContents"). Members of the same names elsewhere are the server's or the host's own, and are looked at.
 */
import type { JsonObject } from "../../wire/json.js";

/** What stands at a part of a message that the protocol defines. Lists have the place of their elements. */
export type MessagePart =
  | "result"
  | "block"
  | "resource"
  | "message"
  | "requests"
  | "request"
  | "questionParams"
  | "responses"
  | "answer";

/** The members of each place that the protocol defines further; `*` stands for any. */
const MEMBERS: Readonly<Record<MessagePart, Readonly<Record<string, MessagePart>>>> = {
  // Of a task too, what it came to and what it asks.
  result: {
    content: "block",
    contents: "resource",
    messages: "message",
    result: "result",
    inputRequests: "requests",
  },
  block: { resource: "resource", content: "block" },
  resource: {},
  message: { content: "block" },
  requests: { "*": "request" },
  request: { params: "questionParams" },
  questionParams: { messages: "message" },
  responses: { "*": "answer" },
  answer: { content: "block" },
};

/** Names that the protocol gives to members of these places, which are no words of the server's or the host's. */
const PROTOCOL_KEYS: ReadonlySet<string> = new Set([
  ...["_meta", "action", "annotations", "blob", "completion", "content", "contents", "createdAt", "data"],
  ...["description", "hasMore", "icons", "id", "input", "inputRequests", "isError", "lastModified"],
  ...["lastUpdatedAt", "maxTokens", "messages", "message", "method", "mimeType", "mode", "model", "name"],
  ...["nextCursor", "params", "pollIntervalMs", "priority", "requestState", "requestedSchema", "resource"],
  ...["result", "resultType", "role", "roots", "size", "status", "statusMessage", "stopReason"],
  ...["structuredContent", "systemPrompt", "task", "taskId", "text", "title", "total", "toolUseId", "ttl"],
  ...["ttlMs", "type", "uri", "url", "values", "elicitationId", "elicitations", "audience"],
]);

/** The position of a member; undefined where the protocol does not define it. */
export function partOfMember(
  part: MessagePart | undefined,
  key: string,
  owner: JsonObject,
): MessagePart | undefined {
  if (part === undefined) return undefined;
  // The content of a form is whatever the person wrote; that of a completion is the model's.
  if (part === "answer" && (Object.hasOwn(owner, "action") || typeof owner.model !== "string"))
    return undefined;
  const members = MEMBERS[part];
  return Object.hasOwn(members, key) ? members[key] : members["*"];
}

/** Whether the name of a member is the protocol's own. */
export const isProtocolKey = (part: MessagePart | undefined, key: string): boolean =>
  // The keys of requests match answers to questions and must not change.
  part === "requests" || part === "responses" || (part !== undefined && PROTOCOL_KEYS.has(key));

/** Whether a member is bytes, written as text. What no Base64 is made of is none. */
export function isBinaryMember(part: MessagePart | undefined, key: string, owner: JsonObject): boolean {
  const named =
    part === "resource"
      ? key === "blob"
      : part === "block" && key === "data" && (owner.type === "image" || owner.type === "audio");
  return named && isBase64(owner[key]);
}

/** Whether a text is one that people read: that of a content block or resource. */
export const isDisplayText = (part: MessagePart | undefined, key: string): boolean =>
  key === "text" && (part === "block" || part === "resource");

const isBase64 = (value: unknown): boolean =>
  typeof value === "string" && /^[A-Za-z0-9+/_-]*={0,2}$/.test(value);
