/** How the URIs that one server gives to one client are renamed, and which of them must be remembered. */
import type { Catalog } from "../catalog/catalog.js";
import { isWebAddress } from "../catalog/uris.js";
import type { Client } from "../core/client.js";
import type { Renaming } from "./rename-results.js";

/**
 * Undefined where nothing has to be renamed or remembered: the server is seen alone, or it is the only one whose
 * URIs are exposed as they are.
 */
export function renamingFor(
  catalog: Pick<Catalog, "view" | "learn">,
  client: Client,
  server: string,
): Renaming | undefined {
  const { spaces } = catalog.view(client).scope;
  const space = spaces.find(({ name }) => name === server);
  if (space === undefined || (spaces.length === 1 && space.uris === undefined)) return undefined;
  const { uris } = space;
  // An address that more than one server could have given leads back to the one that did.
  const unclear =
    uris === undefined && spaces.filter((other) => other.uris === undefined).length > 1
      ? () => true
      : (uri: string) => isWebAddress(uri);
  const uri = (own: string): string => {
    if (spaces.length > 1 && unclear(own)) catalog.learn(client, own, server);
    return uris?.expose(own) ?? own;
  };
  return { uri, page: (own) => (space.passes("resources", own) ? uri(own) : undefined) };
}
