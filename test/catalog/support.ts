/** A catalog over fake servers, with the little that most tests say of it. */
import { onTestFinished } from "vitest";
import { type Catalog, type CatalogOptions, createCatalog } from "../../src/catalog/catalog.js";
import type { CatalogServer } from "../../src/catalog/server-namespace.js";
import type { ListKind } from "../../src/core/lists.js";
import type { JsonObject } from "../../src/wire/json.js";
import { type FakeUpstream, fakeClient } from "../support/fake-upstream.js";

const ALL = { allow: ["*"], deny: [] };

/** The config of a server: its key is its prefix and everything is shown, unless `over` says otherwise. */
export function server(name: string, over: Partial<CatalogServer> = {}): CatalogServer {
  return { name, prefix: name, tools: ALL, prompts: ALL, resources: ALL, ...over };
}

export const SELF: JsonObject = { name: "cardea", version: "0.0.0" };

export interface CatalogUnderTest extends Partial<Omit<CatalogOptions, "upstreams" | "servers">> {
  readonly servers?: readonly CatalogServer[];
}

/** A catalog over `upstreams`, closed when the test is over. */
export function catalogOf(upstreams: readonly FakeUpstream[], options: CatalogUnderTest = {}): Catalog {
  const catalog = createCatalog({
    upstreams,
    servers: upstreams.map(({ name }) => server(name)),
    naming: { separator: "__", maxLength: 60 },
    self: SELF,
    ...options,
  });
  onTestFinished(() => catalog.close());
  return catalog;
}

const KEYS = { tools: "name", prompts: "name", resources: "uri", resourceTemplates: "uriTemplate" } as const;

/** The exposed names that `client` sees in a list, in order. */
export function names(catalog: Catalog, kind: ListKind = "tools", client = fakeClient()): readonly unknown[] {
  return catalog
    .view(client)
    .list(kind)
    .entries.map(({ item }) => item[KEYS[kind]]);
}

export const tool = (name: string, over: JsonObject = {}): JsonObject => ({
  name,
  inputSchema: { type: "object" },
  ...over,
});

/** The entries of a list as `client` sees them. */
export function itemsOf(catalog: Catalog, kind: ListKind, client = fakeClient()): readonly JsonObject[] {
  return catalog
    .view(client)
    .list(kind)
    .entries.map(({ item }) => item);
}
