/** How do resource URIs and task ids in the messages of a server become those that its client knows? Everything else stays. */
import type { Catalog } from "../catalog/catalog.js";
import { mapItems, mapKey, mapUiReferences, UI_MARKERS, type UriMap } from "../catalog/merge.js";
import { isWebAddress } from "../catalog/naming.js";
import type { CatalogView } from "../catalog/view.js";
import type { Call, Notice, Reply } from "../core/call.js";
import type { Client } from "../core/client.js";
import { isObject, type JsonObject, objectAt, stringAt, without } from "../wire/json.js";
import { META } from "../wire/names.js";
import { Payload } from "../wire/payload.js";
import type { IsHidden } from "./hidden-links.js";

type RenamingCatalog = Pick<Catalog, "view" | "learnUri">;

/** Built once per view and server; a call only looks it up. */
export class RenamingCache {
  readonly #catalog: RenamingCatalog;
  readonly #made = new WeakMap<CatalogView, Map<string, Renaming | undefined>>();

  constructor(catalog: RenamingCatalog) {
    this.#catalog = catalog;
  }

  /** Undefined where no URI changes, is remembered or hidden, as in the view of a single server. */
  of(client: Client, server: string): Renaming | undefined {
    const view = this.#catalog.view(client);
    const made = this.#made.get(view) ?? new Map<string, Renaming | undefined>();
    this.#made.set(view, made);
    if (!made.has(server)) made.set(server, this.#make(view, client, server));
    return made.get(server);
  }

  #make(view: CatalogView, client: Client, server: string): Renaming | undefined {
    const { namespaces } = view.endpoint;
    const space = namespaces.find(({ name }) => name === server);
    if (space === undefined) return undefined;
    const isHidden = view.hiddenResources(server);
    if (namespaces.length === 1 && space.uris === undefined && isHidden === undefined) return undefined;
    const bare = namespaces.filter(({ uris }) => uris === undefined).length;
    // A URI that several servers could have returned must lead back to the one that did.
    const unclear = (own: string): boolean =>
      namespaces.length > 1 && (isWebAddress(own) || (space.uris === undefined && bare > 1));
    const uri = (own: string): string => {
      if (unclear(own)) this.#catalog.learnUri(client, own, server);
      return space.uris?.expose(own) ?? own;
    };
    const page = (own: string): string | undefined =>
      space.passes("resources", own) && view.leadsTo(server, space.uris?.expose(own) ?? own)
        ? uri(own)
        : undefined;
    return { uri, page, isHidden };
  }
}

/** A result without any of these has no URI to rename. */
const MARKERS = ['"uri"', ...UI_MARKERS];

/** How URIs of one server are renamed for one client, and which of them it does not see. */
export interface Renaming {
  /** Of a resource. */
  readonly uri: (own: string) => string;
  /** Of a page that shows a result; undefined takes the reference away. */
  readonly page: UriMap;
  /** Whether the client may not see a resource; undefined where it may see all. */
  readonly isHidden: IsHidden | undefined;
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
function mapObject(object: JsonObject, key: string, map: (inner: JsonObject) => JsonObject): JsonObject {
  const inner = objectAt(object, key);
  if (inner === undefined) return object;
  const mapped = map(inner);
  return mapped === inner ? object : { ...object, [key]: mapped };
}

/** The handle of the server's task `id`; undefined for an unknown task. `state`: what the server says of the task. */
export type TaskMap = (id: string, state?: JsonObject) => string | undefined;

/** `reply` to `call` with its tasks renamed; the very same object where there are none. */
export function renameTasks(call: Pick<Call, "method" | "params">, reply: Reply, task: TaskMap): Reply {
  switch (reply.kind) {
    case "result": {
      if (!reply.result.mayContain('"taskId"')) return reply;
      const renamed = renameInResult(call, reply.result.object, task);
      return renamed === reply.result.object ? reply : { ...reply, result: Payload.ofObject(renamed) };
    }
    case "input_required": {
      const renamed = Object.keys(reply.requests).reduce(
        (all, key) =>
          mapObject(all, key, (request) => mapObject(request, "params", (it) => renameRelatedTask(it, task))),
        reply.requests,
      );
      return renamed === reply.requests ? reply : { ...reply, requests: renamed };
    }
    case "error":
      return reply;
  }
}

/** A notification during a call, renamed likewise. */
export function renameTaskNotice(notice: Notice, task: TaskMap): Notice {
  if (notice.params === undefined) return notice;
  const about = notice.method.startsWith("notifications/tasks")
    ? renameTaskId(notice.params, task)
    : notice.params;
  const params = renameRelatedTask(about, task);
  return params === notice.params ? notice : { ...notice, params };
}

/** Renames the related task in `_meta`; the reference to an unknown task is removed. */
export const renameRelatedTask = (object: JsonObject, task: TaskMap): JsonObject =>
  mapObject(object, "_meta", (meta) => {
    const id = stringAt(objectAt(meta, META.relatedTask), "taskId");
    if (id === undefined) return meta;
    const known = task(id) !== undefined;
    return known
      ? mapObject(meta, META.relatedTask, (it) => renameTaskId(it, task))
      : without(meta, [META.relatedTask]);
  });

function renameInResult(
  { method, params }: Pick<Call, "method" | "params">,
  result: JsonObject,
  task: TaskMap,
) {
  const renamed = renameRelatedTask(result, task);
  if (method === "tools/call") {
    // Both forms of a task result. A tool result may have any members.
    if (renamed.resultType === "task") return renameTaskId(renamed, task);
    return Object.hasOwn(params, "task")
      ? mapObject(renamed, "task", (it) => renameTaskId(it, task))
      : renamed;
  }
  // The result of a task is the unchanged result of its tool.
  return method === "tasks/result" ? renamed : renameTaskId(renamed, task);
}

const renameTaskId = (object: JsonObject, task: TaskMap): JsonObject =>
  mapKey(object, "taskId", (id) => task(id, object));
