/** Where in a message may something be taken out? By paths of the config, and not in bytes or words of the protocol itself. */
import type { JsonObject } from "../../../wire/json.js";

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

/** Where some paths have led to. */
interface PathNode {
  readonly members: Map<string, PathNode>;
  /** Behind `*`. */
  any: PathNode | undefined;
  /** Whether a path ends here. */
  isEnd: boolean;
  /** It and no other. */
  readonly alone: PathNodes;
}

/** Where all paths have led to that lead to one value; empty where none does. */
export type PathNodes = readonly PathNode[];

const NO_NODES: PathNodes = [];

/** The paths at the value that they are written for. */
export function compilePaths(paths: readonly string[]): PathNodes {
  if (paths.length === 0) return NO_NODES;
  const root = makeNode();
  for (const path of paths) {
    let node = root;
    for (const step of path.split(".")) node = step === "*" ? anyOf(node) : memberOf(node, step);
    node.isEnd = true;
  }
  return [root];
}

/** The next positions of the paths that continue with this member or index. */
export function descend(nodes: PathNodes, key: string | number): PathNodes {
  const [only] = nodes;
  if (only === undefined) return NO_NODES;
  // Nearly always there is one, and then nothing is made but where it leads to two.
  if (nodes.length === 1) return ledFrom(only, key);
  const next = nodes.flatMap((node) => ledFrom(node, key));
  return next.length === 0 ? NO_NODES : next;
}

function ledFrom({ members, any }: PathNode, key: string | number): PathNodes {
  const member = members.size === 0 ? undefined : members.get(String(key));
  if (member === undefined) return any === undefined ? NO_NODES : any.alone;
  return any === undefined ? member.alone : [member, any];
}

/** Whether a path ends here, so that all of the value is meant. */
export const isTarget = (nodes: PathNodes): boolean => nodes.some(({ isEnd }) => isEnd);

function makeNode(): PathNode {
  const alone: PathNode[] = [];
  const node = { members: new Map<string, PathNode>(), any: undefined, isEnd: false, alone };
  alone.push(node);
  return node;
}

function anyOf(node: PathNode): PathNode {
  node.any ??= makeNode();
  return node.any;
}

function memberOf(node: PathNode, step: string): PathNode {
  const known = node.members.get(step) ?? makeNode();
  node.members.set(step, known);
  return known;
}
