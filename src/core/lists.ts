/** The four lists of the protocol, with every word by which a message, a capability or a person names one. */

/** A list, called as the member that holds its entries in a result. */
export type ListKind = "tools" | "prompts" | "resources" | "resourceTemplates";

/** The names of one list on the wire and in messages. */
export interface ListWords {
  /** The request that lists it (2026-07-28: server/tools, server/prompts, server/resources). */
  readonly method: string;
  /** The member of an entry that identifies it within its server; a URI for resources and their templates. */
  readonly key: "name" | "uri" | "uriTemplate";
  /** The server capability that advertises it; templates have none of their own and go with the resources. */
  readonly capability: "tools" | "prompts" | "resources";
  /** The notification that it changed; for templates that of the resources. */
  readonly changed: string;
  /** One entry, in words for people. */
  readonly noun: string;
}

/** All names of all lists. */
export const LISTS: Readonly<Record<ListKind, ListWords>> = {
  tools: {
    method: "tools/list",
    key: "name",
    capability: "tools",
    changed: "notifications/tools/list_changed",
    noun: "tool",
  },
  prompts: {
    method: "prompts/list",
    key: "name",
    capability: "prompts",
    changed: "notifications/prompts/list_changed",
    noun: "prompt",
  },
  resources: {
    method: "resources/list",
    key: "uri",
    capability: "resources",
    changed: "notifications/resources/list_changed",
    noun: "resource",
  },
  resourceTemplates: {
    method: "resources/templates/list",
    key: "uriTemplate",
    capability: "resources",
    changed: "notifications/resources/list_changed",
    noun: "resource template",
  },
};

/** The lists, in the order in which they are shown. */
export const LIST_KINDS = Object.keys(LISTS) as readonly ListKind[];

/** List methods are answered from the catalog. */
export const LIST_METHODS: ReadonlyMap<string, ListKind> = new Map(
  LIST_KINDS.map((kind) => [LISTS[kind].method, kind]),
);

/** The lists that each capability advertises. */
export const LISTS_OF_CAPABILITY: ReadonlyMap<string, readonly ListKind[]> = listsBy("capability");

/** The lists that each `list_changed` notification is about. */
export const CHANGED_LISTS: ReadonlyMap<unknown, readonly ListKind[]> = listsBy("changed");

/** Whether entries of this list are identified by a URI or a template of one; the others have names. */
export const isUriList = (kind: string): boolean => kind === "resources" || kind === "resourceTemplates";

function listsBy(word: "capability" | "changed"): ReadonlyMap<string, readonly ListKind[]> {
  const sharing = (kind: ListKind) => LIST_KINDS.filter((other) => LISTS[other][word] === LISTS[kind][word]);
  return new Map(LIST_KINDS.map((kind) => [LISTS[kind][word], sharing(kind)]));
}
