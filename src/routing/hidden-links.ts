/**
 * Which entries and links of a server's messages name resources that the client may not see? They are left out, as in lists. Embedded contents
 * of a tool's result stay: they are the answer of the tool, whose rules apply to it.
 */
import { mapUiReferences, UI_MARKERS } from "../catalog/merge.js";
import type { Reply } from "../core/call.js";
import { runSteps, type Steps, Work } from "../runtime/cooperative-yield.js";
import { isObject, type JsonObject, objectAt, stringAt, without } from "../wire/json.js";
import { Payload } from "../wire/payload.js";

/** Whether the client may not see the resource with this URI of the server. */
export type IsHidden = (own: string) => boolean;
/** Whether an entry or a link with this URI stays. */
type Keep = (uri: string) => boolean;

/** JSON text without any of these names no resource. */
const MARKERS = ['"uri"', ...UI_MARKERS];

/**
 * `reply` without entries and links of hidden resources. Where it may have any it is for this client alone, whatever the
 * server says of caching.
 */
export async function withoutHiddenLinks(reply: Reply, isHidden: IsHidden): Promise<Reply> {
  switch (reply.kind) {
    case "result": {
      if (!MARKERS.some((marker) => reply.result.mayContain(marker))) return reply;
      const { object } = reply.result;
      const clean = await withoutHidden(object, isHidden, keptResult);
      const { freshness } = reply;
      return {
        ...reply,
        ...(clean !== object && { result: Payload.ofObject(clean) }),
        ...(freshness !== undefined && { freshness: { ...freshness, scope: "private" } }),
      };
    }
    case "input_required": {
      const requests = await withoutHidden(reply.requests, isHidden, keptRequests);
      return requests === reply.requests ? reply : { ...reply, requests };
    }
    case "error":
      return reply;
  }
}

/** Each URI is evaluated once, in steps; then the object is copied where something goes. */
async function withoutHidden(
  object: JsonObject,
  isHidden: IsHidden,
  kept: (object: JsonObject, keep: Keep) => JsonObject,
): Promise<JsonObject> {
  const named = new Set<string>();
  kept(object, (uri) => named.add(uri) !== undefined);
  if (named.size === 0) return object;
  const hidden = await runSteps(hiddenOf(named, isHidden));
  return hidden.size === 0 ? object : kept(object, (uri) => !hidden.has(uri));
}

function* hiddenOf(uris: Iterable<string>, isHidden: IsHidden): Steps<ReadonlySet<string>> {
  const work = new Work();
  const hidden = new Set<string>();
  for (const uri of uris) {
    yield* work.spend(WORK_PER_URI + uri.length);
    if (isHidden(uri)) hidden.add(uri);
  }
  return hidden;
}

/** The rules and readings of a URI, in characters searched. */
const WORK_PER_URI = 256;

/** Lists of entries, by their member: resources, folders (SEP-2640), skills with their files, contents of a read. */
function keptResult(result: JsonObject, keep: Keep): JsonObject {
  let kept = mapUiReferences(result, (uri) => (keep(uri) ? uri : undefined));
  for (const member of ["resources", "contents"]) kept = keptItems(kept, member, (item) => entry(item, keep));
  kept = keptItems(kept, "content", (block) => keptBlock(block, keep));
  kept = keptItems(kept, "messages", (message) => keptMessage(message, keep));
  kept = keptItems(kept, "skills", (skill) => entry(skill, keep) && keptFiles(skill, keep));
  kept = keptObject(kept, "skill", (skill) => keptFiles(skill, keep));
  // Of a task.
  kept = keptObject(kept, "result", (inner) => keptResult(inner, keep));
  return keptObject(kept, "inputRequests", (requests) => keptRequests(requests, keep));
}

/** What servers ask: sampling carries messages. */
function keptRequests(requests: JsonObject, keep: Keep): JsonObject {
  let kept = requests;
  for (const key of Object.keys(requests))
    kept = keptObject(kept, key, (request) =>
      keptObject(request, "params", (params) =>
        keptItems(params, "messages", (message) => keptMessage(message, keep)),
      ),
    );
  return kept;
}

const keptFiles = (skill: JsonObject, keep: Keep): JsonObject =>
  keptItems(skill, "resources", (file) => entry(file, keep));

const entry = (item: JsonObject, keep: Keep): JsonObject | undefined => {
  const uri = stringAt(item, "uri");
  return uri === undefined || keep(uri) ? item : undefined;
};

function keptBlock(block: JsonObject, keep: Keep): JsonObject | undefined {
  const type = stringAt(block, "type");
  if (type === "resource_link") return entry(block, keep);
  return type === "tool_result" ? keptItems(block, "content", (inner) => keptBlock(inner, keep)) : block;
}

/** A message has one block or several; one without any is left out. */
function keptMessage(message: JsonObject, keep: Keep): JsonObject | undefined {
  const several = keptItems(message, "content", (block) => keptBlock(block, keep));
  const { content } = several;
  return isObject(content) && keptBlock(content, keep) === undefined ? undefined : several;
}

/** `object` with the array at `key` without the items for which `map` is undefined; the same object if nothing changes. */
function keptItems(
  object: JsonObject,
  key: string,
  map: (item: JsonObject) => JsonObject | undefined,
): JsonObject {
  const items: unknown = Object.hasOwn(object, key) ? object[key] : undefined;
  if (!Array.isArray(items)) return object;
  let changed = false;
  const kept = items.flatMap((item: unknown): readonly unknown[] => {
    const next = isObject(item) ? map(item) : item;
    changed ||= next !== item;
    return next === undefined ? [] : [next];
  });
  return changed ? { ...object, [key]: kept } : object;
}

function keptObject(
  object: JsonObject,
  key: string,
  map: (inner: JsonObject) => JsonObject | undefined,
): JsonObject {
  const inner = objectAt(object, key);
  if (inner === undefined) return object;
  const next = map(inner);
  if (next === inner) return object;
  return next === undefined ? without(object, [key]) : { ...object, [key]: next };
}
