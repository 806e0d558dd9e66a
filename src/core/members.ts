/**
 * Which members does MCP define in the parameters of each method? Over all revisions from 2024-11-05 to 2026-07-28 and
 * the extensions that the gateway serves itself. Other members are passed on unchecked.
 */
import { CaseFoldedNames } from "../wire/case-folding.js";
import { META } from "../wire/names.js";

/** The members of one object. */
export interface Members {
  /** By name; undefined for a member whose value is not checked. */
  readonly names: ReadonlyMap<string, NestedMember | undefined>;
  readonly folded: CaseFoldedNames;
}

/** A member whose value is an object, or a list of objects, with defined members. */
export interface NestedMember {
  readonly name: string;
  /** Whether it must be an object: policy reads members of it. */
  readonly mustBeObject: boolean;
  /** The members of the object; absent if any are allowed. */
  readonly members?: Members;
  /** Whether `members` are those of the object itself, of each value in an object or list, or of a list's alone. */
  readonly appliesTo: "itself" | "values" | "items";
}

type MemberSpec = string | NestedMember;

function members(...given: readonly MemberSpec[]): Members {
  const names = new Map(
    given.map((one) => (typeof one === "string" ? ([one, undefined] as const) : ([one.name, one] as const))),
  );
  return { names, folded: new CaseFoldedNames([...names.keys()]) };
}

const object = (name: string, ...given: readonly MemberSpec[]): NestedMember => ({
  name,
  mustBeObject: false,
  members: members(...given),
  appliesTo: "itself",
});
const values = (name: string, each: Members): NestedMember => ({
  name,
  mustBeObject: false,
  members: each,
  appliesTo: "values",
});
/** A list of objects, or one of them alone. */
const items = (name: string, each: Members): NestedMember => ({
  name,
  mustBeObject: false,
  members: each,
  appliesTo: "items",
});
const strict = (inner: NestedMember): NestedMember => ({ ...inner, mustBeObject: true });
/** An object with any members. */
const freeObject = (name: string): NestedMember => ({ name, mustBeObject: true, appliesTo: "itself" });

const meta = object(
  "_meta",
  ...Object.values(META).filter((key) => key !== META.relatedTask),
  "traceparent",
  "tracestate",
  "baggage",
  object(META.relatedTask, "taskId"),
);

/** Client capabilities, in `initialize` and in `_meta`; checked once for each client. */
export const CAPABILITIES: Members = members(
  "experimental",
  "extensions",
  object("roots", "listChanged"),
  object("sampling", "context", "tools"),
  object("elicitation", "form", "url"),
  object(
    "tasks",
    "list",
    "cancel",
    object("requests", object("sampling", "createMessage"), object("elicitation", "create")),
  ),
);
/** `clientInfo`. */
export const IMPLEMENTATION: Members = members(
  "name",
  "title",
  "version",
  "description",
  "websiteUrl",
  "icons",
);

/** The result of a server's request, of any kind. */
export const INPUT_RESPONSE: Members = members(
  ...["action", "content", "model", "role", "stopReason", "roots", "task", "resultType"],
  meta,
);
/** A server's request inside an `input_required` result. */
export const INPUT_REQUEST: Members = members("jsonrpc", "id", "method", "params");

/** The members that make a result `input_required`; the others are named only so that they are skipped fast. */
export const INPUT_REQUIRED_RESULT: Members = {
  ...members(
    ...["resultType", "inputRequests", "requestState", "_meta", "content", "structuredContent", "isError"],
    ...["contents", "messages", "description", "completion", "ttlMs", "cacheScope", "taskId", "status"],
  ),
  folded: new CaseFoldedNames(["resultType", "inputRequests", "requestState"]),
};
/** `data` of the error -32042 of 2025-11-25. */
export const URL_ELICITATIONS: Members = members("elicitations");

const resumeParams = [values("inputResponses", INPUT_RESPONSE), "requestState"] as const;
const listParams = members("cursor", meta);
const uriParams = members("uri", meta);
const metaOnly = members(meta);
const task = object("task", "ttl");

const contentMembers = [
  ...["type", "text", "data", "mimeType", "annotations", "uri", "name", "title", "description", "size"],
  ...["icons", "id", "input", "toolUseId", "structuredContent", "isError", meta],
  object("resource", "uri", "mimeType", "text", "blob", meta),
] as const;
const block = members(...contentMembers, items("content", members("content", ...contentMembers)));

const sampling = members(
  ...["systemPrompt", "includeContext", "temperature", "maxTokens", "stopSequences", "metadata"],
  items("messages", members("role", items("content", block), meta)),
  object(
    "modelPreferences",
    ...["costPriority", "speedPriority", "intelligencePriority"],
    items("hints", members("name")),
  ),
  items(
    "tools",
    members(
      ...["name", "title", "description", "inputSchema", "outputSchema", "annotations", "execution", "icons"],
      meta,
    ),
  ),
  object("toolChoice", "mode"),
  task,
  meta,
);
const elicitation = members(
  ...["mode", "message", "url", "elicitationId"],
  object("requestedSchema", "$schema", "type", "properties", "required"),
  task,
  meta,
);

const filter = object(
  "notifications",
  ...["toolsListChanged", "promptsListChanged", "resourcesListChanged", "resourceSubscriptions", "taskIds"],
);
const taskState = members(
  ...["taskId", "status", "statusMessage", "createdAt", "lastUpdatedAt", "ttl", "ttlMs", "pollInterval"],
  ...["pollIntervalMs", "result", "error", "requestState", meta],
  values("inputRequests", INPUT_REQUEST),
);

/** The defined parameters by method: requests and notifications of clients and servers. */
export const PARAMS: ReadonlyMap<string, Members> = new Map([
  [
    "initialize",
    members(
      "protocolVersion",
      { ...object("capabilities"), members: CAPABILITIES },
      { ...object("clientInfo"), members: IMPLEMENTATION },
      meta,
    ),
  ],
  ["ping", metaOnly],
  ["server/discover", metaOnly],
  ["logging/setLevel", members("level", meta)],
  ["tools/list", listParams],
  ["prompts/list", listParams],
  ["resources/list", listParams],
  ["resources/templates/list", listParams],
  ["tasks/list", listParams],
  ["skills/list", listParams],
  ["tools/call", members("name", freeObject("arguments"), task, meta, ...resumeParams)],
  ["prompts/get", members("name", freeObject("arguments"), meta, ...resumeParams)],
  ["resources/read", members("uri", meta, ...resumeParams)],
  ["resources/subscribe", uriParams],
  ["resources/unsubscribe", uriParams],
  ["resources/directory/read", members("uri", "cursor", meta)],
  ["skills/get", uriParams],
  [
    "completion/complete",
    members(
      object("ref", "type", "name", "title", "uri"),
      strict(object("argument", "name", "value")),
      strict(object("context", freeObject("arguments"))),
      meta,
    ),
  ],
  ["subscriptions/listen", members(filter, meta)],
  ["tasks/get", members("taskId", meta)],
  ["tasks/result", members("taskId", meta)],
  ["tasks/cancel", members("taskId", meta)],
  ["tasks/update", members("taskId", meta, ...resumeParams)],
  ["roots/list", metaOnly],
  ["sampling/createMessage", sampling],
  ["elicitation/create", elicitation],
  ["notifications/initialized", metaOnly],
  ["notifications/cancelled", members("requestId", "reason", meta)],
  ["notifications/progress", members("progressToken", "progress", "total", "message", meta)],
  ["notifications/message", members("level", "logger", "data", meta)],
  ["notifications/roots/list_changed", metaOnly],
  ["notifications/tools/list_changed", metaOnly],
  ["notifications/prompts/list_changed", metaOnly],
  ["notifications/resources/list_changed", metaOnly],
  ["notifications/resources/updated", uriParams],
  ["notifications/elicitation/complete", members("elicitationId", meta)],
  ["notifications/subscriptions/acknowledged", members(filter, meta)],
  ["notifications/tasks/status", taskState],
  ["notifications/tasks", taskState],
]);

/** The members that the gateway reads in the parameters of any method; see `paramsFault`. */
export const COMMON_PARAMS = new CaseFoldedNames([
  ...["_meta", "name", "uri", "ref", "arguments", "taskId", "cursor", "task", "inputResponses"],
  "requestState",
]);
