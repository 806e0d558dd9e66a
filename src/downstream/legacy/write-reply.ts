/** How is a reply written as a response that a legacy host can read? Most results pass unchanged, as the bytes they were. */
import type { Call, Reply } from "../../core/call.js";
import type { GatewayApi } from "../../core/gateway-api.js";
import { codeOf, type MessageId, type RpcError } from "../../wire/envelope.js";
import { isObject, type JsonObject, objectAt, stringAt, without } from "../../wire/json.js";
import { writeJson } from "../../wire/json-text.js";
import { CODE, META } from "../../wire/names.js";
import { Payload, RESULT_TYPE_COMPLETE } from "../../wire/payload.js";
import { errorText, type MessageText, resultText } from "./messages.js";
import { downgradeBlocks, hasObjectRoot, withObjectSchemas, wrapOutputSchema } from "./older-forms.js";
import type { Revision } from "./revision.js";

/** The response to the request `id` that became `call`. */
export function writeReply(
  id: MessageId,
  call: Call,
  reply: Reply,
  revision: Revision,
  gateway: Pick<GatewayApi, "tool">,
): MessageText {
  switch (reply.kind) {
    case "result":
      return resultText(id, downgradeResult(reply.result, call, revision, gateway));
    case "error": {
      if (codeOf(reply.error) === CODE.missingClientCapability)
        return missingCapabilityText(id, call, reply.error);
      const links = urlsToOpen(reply.error);
      if (links === undefined || revision.elicitationModes)
        return errorText(id, downgradeError(reply.error, call));
      return call.method === "tools/call"
        ? resultText(id, failedToolResult(links))
        : errorText(id, { code: CODE.internalError, message: links });
    }
    case "input_required":
      // The input loop stands before this and leaves none over.
      return errorText(id, {
        code: CODE.internalError,
        message: "the server asked for input where the protocol does not allow it",
      });
  }
}

/** A code that legacy hosts do not know says that they lack a capability; a tool that needs it has failed as a tool. */
function missingCapabilityText(id: MessageId, { method }: Call, { message, data }: RpcError): MessageText {
  if (method === "tools/call") return resultText(id, failedToolResult(message));
  return errorText(id, { code: CODE.internalError, message, ...(data !== undefined && { data }) });
}

/** Before 2026-07-28 a missing resource had a code of its own. */
function downgradeError(error: RpcError, call: Call): RpcError {
  const missing = codeOf(error) === CODE.invalidParams && call.method.startsWith("resources/");
  const uri = isObject(error.data) ? stringAt(error.data, "uri") : undefined;
  return missing && uri !== undefined ? { ...error, code: CODE.resourceNotFound } : error;
}

/**
 * Error -32042 asks a host to send a person to some URLs first. A host that knows nothing of it can still show
 * them to the person.
 */
function urlsToOpen(error: RpcError): string | undefined {
  if (codeOf(error) !== CODE.urlElicitationRequired) return undefined;
  const elicitations =
    isObject(error.data) && Array.isArray(error.data.elicitations) ? error.data.elicitations : [];
  const lines = elicitations.filter(isObject).map((elicitation) => {
    const message = stringAt(elicitation, "message");
    const url = stringAt(elicitation, "url") ?? "";
    return message === undefined ? url : `${message} ${url}`;
  });
  return [error.message, ...lines].join("\n");
}

const failedToolResult = (text: string): Payload =>
  Payload.ofObject({ content: [{ type: "text", text }], isError: true });

/** Members that only modern results have (2026-07-28, basic/index, "Responses"). */
const MODERN_MEMBERS = ["resultType", "ttlMs", "cacheScope"];
/** `_meta` may hold the `serverInfo` of the server beside what hosts may read. */
const MODERN_ONLY = [...MODERN_MEMBERS, "_meta"];

/** The result of `call` for a host of `revision`; the same object where nothing changes. */
function downgradeResult(
  result: Payload,
  call: Call,
  revision: Revision,
  gateway: Pick<GatewayApi, "tool">,
): Payload {
  const clean = MODERN_ONLY.some((key) => result.mayHave(key)) ? withoutModernMembers(result) : result;
  switch (call.method) {
    case "tools/call":
      return wrapStructured(downgradeContent(clean, revision), call, revision, gateway);
    case "prompts/get":
      return downgradeMessages(clean, revision);
    case "tools/list":
      return downgradeTools(clean, revision);
    default:
      return clean;
  }
}

/** `before` itself where the object did not change, so that its bytes can be sent unchanged. */
const payloadOf = (before: Payload, after: JsonObject): Payload =>
  after === before.object ? before : Payload.ofObject(after);

function withoutModernMembers(result: Payload): Payload {
  // Most results of modern servers begin with it, and have nothing else to remove.
  const shorter = result.withoutFirst(RESULT_TYPE_COMPLETE);
  if (shorter !== undefined && !MODERN_ONLY.some((key) => key !== "resultType" && result.mayHave(key))) {
    return shorter;
  }
  const clean = without(result.object, MODERN_MEMBERS);
  const meta = objectAt(clean, "_meta");
  if (meta === undefined || !Object.hasOwn(meta, META.serverInfo)) return payloadOf(result, clean);
  const kept = without(meta, [META.serverInfo]);
  const rest = without(clean, ["_meta"]);
  return payloadOf(result, Object.keys(kept).length > 0 ? { ...rest, _meta: kept } : rest);
}

/** Whether the result may have a block that the revision does not know. */
const mayHaveUnknownBlocks = (result: Payload, revision: Revision): boolean =>
  (!revision.resourceLinks && result.mayContain('"resource_link"')) ||
  (!revision.audio && result.mayContain('"audio"'));

function downgradeContent(result: Payload, revision: Revision): Payload {
  if (!mayHaveUnknownBlocks(result, revision)) return result;
  const content = downgradeBlocks(result.object.content, revision);
  return content === result.object.content ? result : Payload.ofObject({ ...result.object, content });
}

function downgradeMessages(result: Payload, revision: Revision): Payload {
  const { messages } = mayHaveUnknownBlocks(result, revision) ? result.object : {};
  if (!Array.isArray(messages)) return result;
  const older = messages.map((message: unknown) =>
    isObject(message) ? { ...message, content: downgradeBlocks(message.content, revision) } : message,
  );
  return Payload.ofObject({ ...result.object, messages: older });
}

/**
 * Before 2026-07-28 `structuredContent` had to be an object (SEP-2106). Any other value is wrapped in `{ result }`, and so is
 * an object of a tool whose schema is wrapped in the list, because it must match that schema.
 */
function wrapStructured(
  result: Payload,
  call: Call,
  revision: Revision,
  gateway: Pick<GatewayApi, "tool">,
): Payload {
  if (!revision.structured || !result.mayHave("structuredContent")) return result;
  const schema = objectAt(gateway.tool(call.client, stringAt(call.params, "name") ?? ""), "outputSchema");
  const asListed = schema === undefined || hasObjectRoot(schema);
  if (!Object.hasOwn(result.object, "structuredContent")) return result;
  const { structuredContent: value, content } = result.object;
  if (asListed && isObject(value)) return result;
  const blocks: readonly unknown[] = Array.isArray(content) ? content : [];
  const hasText = blocks.some((block) => isObject(block) && block.type === "text");
  return Payload.ofObject({
    ...result.object,
    structuredContent: { result: value },
    ...(!hasText && { content: [...blocks, { type: "text", text: writeJson(value) }] }),
  });
}

/** By list page, which is made once and sent many times. Each belongs to one catalog, so gateways share no entry. */
const downgradedLists = {
  structured: new WeakMap<Payload, Payload>(),
  plain: new WeakMap<Payload, Payload>(),
};

function downgradeTools(result: Payload, revision: Revision): Payload {
  const wraps = revision.structured && result.mayContain('"outputSchema"');
  if (!wraps && !mayHaveBooleanSchemas(result)) return result;
  const lists = revision.structured ? downgradedLists.structured : downgradedLists.plain;
  const known = lists.get(result);
  if (known !== undefined) return known;
  const older = downgradeToolList(result, revision);
  lists.set(result, older);
  return older;
}

const mayHaveBooleanSchemas = (result: Payload): boolean =>
  result.mayContain('"properties"') && (result.mayContain(":true") || result.mayContain(":false"));

function downgradeToolList(result: Payload, revision: Revision): Payload {
  const { tools } = result.object;
  if (!Array.isArray(tools)) return result;
  const older = tools.map((tool: unknown) => {
    if (!isObject(tool)) return tool;
    const known = withObjectSchemas(tool);
    const schema = revision.structured ? objectAt(known, "outputSchema") : undefined;
    if (schema === undefined || hasObjectRoot(schema)) return known;
    return { ...known, outputSchema: wrapOutputSchema(schema) };
  });
  return older.every((tool, at) => tool === tools[at])
    ? result
    : Payload.ofObject({ ...result.object, tools: older });
}
