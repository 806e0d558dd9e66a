/** Subscribers to the changes of a catalog. */
import type { Catalog } from "../../src/catalog/catalog.js";
import type { Client } from "../../src/core/client.js";
import type { Change } from "../../src/core/gateway-api.js";
import { LIST_KINDS, type ListKind } from "../../src/core/lists.js";
import { fakeClient } from "../support/fake-upstream.js";

interface Wish {
  readonly client?: Client;
  readonly lists?: readonly ListKind[];
  readonly resources?: readonly string[];
}

export function listen(
  catalog: Catalog,
  { client = fakeClient(), lists = LIST_KINDS, resources = [] }: Wish = {},
) {
  const heard: Change[] = [];
  const interest = { lists: new Set(lists), resources: new Set(resources) };
  const stop = catalog.changes.subscribe(client, interest, (change) => heard.push(change));
  return { heard, stop };
}

export const followable = async (catalog: Catalog, uris: readonly string[], client = fakeClient()) =>
  Object.fromEntries(await catalog.changes.followable(client, uris));

export const toolsChanged: Change = { kind: "list", list: "tools" };
