/** What do the servers of the running gateway list and say of themselves now? */
import { type ConfiguredServer, isMisconfigured } from "../../config/config.js";
import type { Client } from "../../core/client.js";
import type { RunningGateway } from "../../core/feature.js";
import { LIST_KINDS, type ListKind } from "../../core/lists.js";
import type { StopSignal } from "../../core/stop.js";
import { OPERATOR_CLIENT } from "../../gateway/live-config.js";
import type { Pipeline } from "../../gateway/pipeline.js";
import { isObject, type JsonObject, stringAt } from "../../wire/json.js";
import type { CurrentServer } from "./lock/differences.js";
import type { StartLine } from "./lock/lock.js";

/** A host that can be asked everything: some servers list more for it than for a host without capabilities. */
const CAPABLE_CLIENT: Client = {
  ...OPERATOR_CLIENT,
  affinity: "operator, with capabilities",
  capabilities: { elicitation: { form: {}, url: {} }, sampling: { tools: {}, context: {} }, roots: {} },
};

/** Servers that list at the same time for hosts with capabilities: each may need a process for that. */
const AT_ONCE = 4;
/** How often a server is asked at least, and at most until it should have been connected. */
const ATTEMPTS = { least: 3, most: 20 } as const;

/**
 * Waits until the servers have listed for hosts without capabilities, and for hosts with all of them, as long as each may take to
 * connect. Resolves to those that have listed for the first ones only. Never rejects.
 */
export async function prepareLists(pipeline: Pipeline, signal: StopSignal): Promise<ReadonlySet<string>> {
  const { catalog, servers } = pipeline;
  const names = [...servers.keys()];
  await Promise.all(names.map((name) => catalog.whenLoaded(name, OPERATOR_CLIENT)));
  const left = [...servers].values();
  const partial = new Set<string>();
  const loadLeft = async (): Promise<void> => {
    for (const [name, { config }] of left) {
      // What cannot be listed for any host is no part that is missing.
      const isWhole = await loadWhole(catalog, config, signal);
      if (!isWhole && catalog.ownEntries(name) !== undefined) partial.add(name);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, loadLeft));
  return partial;
}

/** An attempt ends before a slow server is connected, and the next one continues with its connection. */
async function loadWhole(
  catalog: Pipeline["catalog"],
  { name, connectTimeoutMs, firstConnectTimeoutMs = connectTimeoutMs }: ConfiguredServer,
  signal: StopSignal,
): Promise<boolean> {
  const deadline = performance.now() + firstConnectTimeoutMs;
  const { least, most } = ATTEMPTS;
  for (let attempt = 0; attempt < most && !signal.aborted; attempt += 1) {
    if (attempt >= least && performance.now() > deadline) return false;
    if (await catalog.loadWhole(name, CAPABLE_CLIENT)) return true;
  }
  return false;
}

/** Ends what `prepareLists` has kept. */
export const releaseLists = ({ catalog }: Pipeline): void => catalog.releaseClient(CAPABLE_CLIENT.affinity);

/** Of one server, of all classes of clients; undefined if nothing is known of it. `start`: see `startLines`. */
export function currentServer(
  { catalog, servers }: Pipeline,
  name: string,
  start: StartLine | undefined,
): CurrentServer | undefined {
  const facts = servers.get(name)?.upstream.facts;
  const lists = Object.fromEntries(
    LIST_KINDS.map((kind) => {
      const known = catalog.ownLists(name, kind);
      return [kind, known.length === 0 ? undefined : known.flat()];
    }),
  ) as Record<ListKind, readonly JsonObject[] | undefined>;
  if (facts === undefined && LIST_KINDS.every((kind) => lists[kind] === undefined)) return undefined;
  const { serverInfo, instructions } = facts ?? {};
  return {
    ...{ start, lists, instructions, isMet: facts !== undefined },
    name: serverInfo && stringAt(serverInfo, "name"),
  };
}

/** How each server of the config is started, without secrets. */
export async function startLines(
  gateway: RunningGateway,
  redact: (text: string) => string,
): Promise<ReadonlyMap<string, StartLine>> {
  const { config, features } = gateway.pipeline();
  const packages = features.serverMembers.filter((members) => Object.hasOwn(members.schemas(), "package"));
  const rows = await Promise.all(packages.map((members) => members.read()));
  return new Map(
    config.servers.flatMap((server) => {
      if (isMisconfigured(server)) return [];
      const [row] = rows.flatMap((read) => packageIn(read(server.name)) ?? []);
      return [[server.name, row ?? lineOf(server, redact)] as const];
    }),
  );
}

/** What another feature says of the package that a server runs. */
function packageIn({ package: own }: Readonly<Record<string, unknown>>): StartLine | undefined {
  if (!isObject(own)) return undefined;
  const [name, version] = [stringAt(own, "name"), stringAt(own, "version")];
  return name === undefined ? undefined : { package: name, ...(version !== undefined && { version }) };
}

function lineOf({ transport }: ConfiguredServer, redact: (text: string) => string): StartLine {
  if (transport.kind === "stdio") return { command: redact(transport.command) };
  const url: unknown = "url" in transport ? transport.url : undefined;
  if (typeof url !== "string" || !URL.canParse(url)) return {};
  // Credentials and parameters may be secrets.
  const { origin, pathname } = new URL(url);
  return { url: redact(`${origin}${pathname}`) };
}
