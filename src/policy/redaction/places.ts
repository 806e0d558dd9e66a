/**
 * Where in a message the protocol itself writes bytes as text, in which no pattern means anything: `data` of images and
 * audio, and `blob` of resources, where such content stands (2026-07-28 and before: schema, "ContentBlock",
 * "BlobResourceContents"). Members of the same names elsewhere are the server's or the host's own, and are looked at.
 */
import type { JsonObject } from "../../wire/json.js";

/** What stands at a part of a message that the protocol defines. Lists have the place of their elements. */
export type Place =
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
const MEMBERS: Readonly<Record<Place, Readonly<Record<string, Place>>>> = {
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

/** Where the member of something stands; undefined where the protocol says nothing of it. */
export function placeOfMember(place: Place | undefined, key: string, owner: JsonObject): Place | undefined {
  if (place === undefined) return undefined;
  // The content of a form is whatever the person wrote; that of a completion is the model's.
  if (place === "answer" && (Object.hasOwn(owner, "action") || typeof owner.model !== "string"))
    return undefined;
  const members = MEMBERS[place];
  return Object.hasOwn(members, key) ? members[key] : members["*"];
}

/** Whether the name of a member is the protocol's own. */
export const isProtocolKey = (place: Place | undefined, key: string): boolean =>
  // The names of requests tell answers apart, and must stay what they are.
  place === "requests" || place === "responses" || (place !== undefined && PROTOCOL_KEYS.has(key));

/** Whether a member is bytes, written as text. What no Base64 is made of is none. */
export function holdsBytes(place: Place | undefined, key: string, owner: JsonObject): boolean {
  const named =
    place === "resource"
      ? key === "blob"
      : place === "block" && key === "data" && (owner.type === "image" || owner.type === "audio");
  return named && isBase64(owner[key]);
}

/** Whether a text is one that people read: that of a content block or resource. */
export const isReadText = (place: Place | undefined, key: string): boolean =>
  key === "text" && (place === "block" || place === "resource");

const isBase64 = (value: unknown): boolean =>
  typeof value === "string" && /^[A-Za-z0-9+/_-]*={0,2}$/.test(value);
