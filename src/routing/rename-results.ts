/** How resource URIs in the messages of a server become the URIs that hosts see; everything else stays. */
import { mapItems, mapKey, mapUiReferences, UI_MARKERS, type UriMap } from "../catalog/ui-references.js";
import type { Notice, Reply } from "../core/call.js";
import { isObject, type JsonObject, objectAt, stringAt } from "../wire/json.js";
import { Payload } from "../wire/payload.js";

/** A result without any of these has no URI to rename. */
const MARKERS = ['"uri"', ...UI_MARKERS];

/** How URIs of one server are renamed for one client. */
export interface Renaming {
  /** Of a resource. */
  readonly uri: (own: string) => string;
  /** Of a page that shows a result; undefined takes the reference away. */
  readonly page: UriMap;
}

/** `reply` to `method` with its URIs renamed; the very same object where nothing changes. */
export function renameReply(method: string, reply: Reply, renaming: Renaming): Reply {
  switch (reply.kind) {
    case "result": {
      if (!MARKERS.some((marker) => reply.result.mayContain(marker))) return reply;
      const renamed = renameResult(method, reply.result.object, renaming);
      return renamed === reply.result.object ? reply : { ...reply, result: Payload.ofObject(renamed) };
    }
    case "error": {
      const { data } = reply.error;
      if (!isObject(data)) return reply;
      const renamed = mapKey(data, "uri", renaming.uri);
      return renamed === data ? reply : { ...reply, error: { ...reply.error, data: renamed } };
    }
    case "input_required": {
      const renamed = renameRequests(reply.requests, renaming);
      return renamed === reply.requests ? reply : { ...reply, requests: renamed };
    }
  }
}

/** A question that came with no call, renamed likewise. */
export function renameQuestion(question: JsonObject, renaming: Renaming | undefined): JsonObject {
  if (renaming === undefined) return question;
  return objectAt(renameRequests({ question }, renaming), "question") ?? question;
}

/** A notice that came with a call, renamed likewise. */
export function renameNotice(notice: Notice, renaming: Renaming): Notice {
  if (notice.method !== "notifications/resources/updated" || notice.params === undefined) return notice;
  const params = mapKey(notice.params, "uri", renaming.uri);
  return params === notice.params ? notice : { ...notice, params };
}

function renameResult(method: string, result: JsonObject, renaming: Renaming): JsonObject {
  const { uri, page } = renaming;
  const entry = (item: JsonObject) => mapKey(item, "uri", uri);
  let renamed = mapUiReferences(result, page);
  renamed = mapItems(renamed, "content", (block) => renameBlock(block, uri));
  renamed = mapItems(renamed, "contents", entry);
  renamed = mapItems(renamed, "messages", (message) => renameMessage(message, uri));
  if (method.startsWith("tasks/")) {
    renamed = mapObject(renamed, "result", (inner) => renameResult("tools/call", inner, renaming));
    renamed = mapObject(renamed, "inputRequests", (requests) => renameRequests(requests, renaming));
  }
  // SEP-2640: a skill is named by a URI and names those of its files; folders list theirs.
  const skill = (item: JsonObject) => mapItems(entry(item), "resources", entry);
  if (method.startsWith("skills/")) {
    renamed = mapObject(mapItems(skill(renamed), "skills", skill), "skill", skill);
  }
  if (method === "resources/directory/read") renamed = mapItems(renamed, "resources", entry);
  return renamed;
}

/** Content of tools, prompts and messages (2026-07-28: server/tools, "Tool Result"). */
function renameBlock(block: JsonObject, uri: (own: string) => string): JsonObject {
  const type = stringAt(block, "type");
  if (type === "resource_link") return mapKey(block, "uri", uri);
  if (type === "resource") return mapObject(block, "resource", (resource) => mapKey(resource, "uri", uri));
  if (type === "tool_result") return mapItems(block, "content", (inner) => renameBlock(inner, uri));
  return block;
}

/** A message has one block or several. */
function renameMessage(message: JsonObject, uri: (own: string) => string): JsonObject {
  const several = mapItems(message, "content", (block) => renameBlock(block, uri));
  return mapObject(several, "content", (block) => renameBlock(block, uri));
}

/** Of what a server may ask, only sampling carries content; an elicitation's `url` is no resource. */
function renameRequests(requests: JsonObject, { uri }: Renaming): JsonObject {
  return Object.keys(requests).reduce(
    (all, key) =>
      mapObject(all, key, (request) =>
        stringAt(request, "method") === "sampling/createMessage"
          ? mapObject(request, "params", (params) =>
              mapItems(params, "messages", (message) => renameMessage(message, uri)),
            )
          : request,
      ),
    requests,
  );
}

/** `object` with the object at `key` mapped; the very same object where there is none or it stays. */
export function mapObject(
  object: JsonObject,
  key: string,
  map: (inner: JsonObject) => JsonObject,
): JsonObject {
  const inner = objectAt(object, key);
  if (inner === undefined) return object;
  const mapped = map(inner);
  return mapped === inner ? object : { ...object, [key]: mapped };
}
