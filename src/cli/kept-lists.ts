/** What of a config matches nothing in the lists that an earlier run of the gateway has kept? No server is started. */
import type { Advice } from "../config/advice.js";
import { type Config, isMisconfigured } from "../config/config.js";
import { identityOf } from "../config/server-identity.js";
import { LIST_KINDS, type ListKind } from "../core/lists.js";
import type { PersistedLists } from "../core/persisted-lists.js";
import { SHARED_SCOPE } from "../core/upstream.js";
import { stateFolder } from "../state/state-folder.js";
import type { JsonObject } from "../wire/json.js";
import type { CommandContext } from "./command-context.js";
import { packageVersion } from "./help.js";
import type { ListedEntries } from "./ineffective.js";

/** Advice on filters, rules and limits; empty if no list is known. */
export async function ineffectiveByKeptLists(
  config: Config,
  shell: CommandContext,
): Promise<readonly Advice[]> {
  const keeper = shell.features.find((feature) => feature.keptLists !== undefined);
  if (keeper?.keptLists === undefined) return [];
  const servers = config.servers.flatMap((server) =>
    isMisconfigured(server) ? [] : [{ name: server.name, identity: identityOf(server) }],
  );
  const logger = await shell.openLog({ quiet: true });
  const kept = await keeper.keptLists(servers, {
    ...{ stateFolder: stateFolder(shell.env), version: packageVersion(), logger },
  });
  const listed = new Map([...kept].flatMap(([name, lists]) => entriesOf(name, lists)));
  if (listed.size === 0) return [];
  const { ineffectiveSettings } = await import("./ineffective.js");
  return ineffectiveSettings(config, listed, shell.features);
}

/** What the server lists to clients without capabilities of their own; none if that is unknown. */
function entriesOf(name: string, { scopes }: PersistedLists): readonly (readonly [string, ListedEntries])[] {
  const shared = scopes.get(SHARED_SCOPE.capabilityClass);
  if (shared === undefined || !shared.has("tools")) return [];
  const itemsOf = (kind: ListKind): readonly JsonObject[] => shared.get(kind)?.items ?? [];
  const entries = Object.fromEntries(LIST_KINDS.map((kind) => [kind, itemsOf(kind)]));
  return [[name, entries as ListedEntries]];
}
