/** The page of trust: the state of the lock, what differs at each server, and what its section in the lock would be now. */
import { type AnswerOf, BadQuery } from "../../core/admin-page.js";
import type { RunningGateway } from "../../core/feature.js";
import type { StopSignal } from "../../core/stop.js";
import type { JsonObject } from "../../wire/json.js";
import type { PAGE } from "./admin.js";
import { currentServer, prepareLists, releaseLists, startLines } from "./current-servers.js";
import { clauseOf } from "./lock/describe-difference.js";
import { lockedLists, writtenServer } from "./lock/lock.js";
import type { LockState } from "./lock/lock-file.js";
import type { Reviews } from "./reviews.js";
import type { Scans } from "./scans.js";
import type { Pin } from "./section.js";
import type { ServerApprovals } from "./server-approvals.js";

/** What the page shows. */
interface ShownTrust {
  readonly options: { readonly file: string; readonly redact: (text: string) => string };
  readonly state: LockState;
  readonly gateway: RunningGateway | undefined;
  readonly reviews: Reviews | undefined;
  readonly scans: Scans | undefined;
  readonly pins: ReadonlyMap<string, Pin>;
  approvalsOf(server: string): ServerApprovals;
}

/** @throws BadQuery for a server that the config does not have */
export async function trustPage(
  trust: ShownTrust,
  query: URLSearchParams,
  signal: StopSignal,
): Promise<AnswerOf<typeof PAGE>> {
  const { options, state, gateway, reviews, pins } = trust;
  const only = query.get("server");
  if (only !== null && !pins.has(only)) throw new BadQuery(`there is no server ${only}`);
  const definitions =
    query.get("definitions") === "true" && gateway !== undefined
      ? await definitionsOf(gateway, options.redact, signal)
      : undefined;
  const servers = [...pins].filter(([server]) => only === null || server === only);
  return {
    file: options.file,
    lock: state.kind,
    ...(state.kind === "unusable" && { reason: state.reason }),
    servers: servers.map(([server, pin]) => ({
      ...{ server, pin, held: trust.approvalsOf(server).heldCount },
      findings: (trust.scans?.findings(server) ?? []).map(({ server: _, ...finding }) => finding),
      differences: (reviews?.differences(server) ?? []).map((each) => ({
        ...{ kind: each.kind, name: each.name, change: each.change },
        text: clauseOf(each),
      })),
      ...definitions?.(server),
    })),
  };
}

/** Of a server whose lists are known in part. */
const UNREAD = "it has not listed what it has for hosts that can be asked";

/** What each server says now, as it would stand in the lock; null where that is unknown, or known in part. */
async function definitionsOf(
  gateway: RunningGateway,
  redact: (text: string) => string,
  signal: StopSignal,
): Promise<(server: string) => { readonly definitions: JsonObject | null; readonly unread?: string }> {
  const pipeline = gateway.pipeline();
  const partial = await prepareLists(pipeline, signal);
  const starts = await startLines(gateway, redact);
  const current = new Map(
    [...pipeline.servers.keys()].map((name) => [name, currentServer(pipeline, name, starts.get(name))]),
  );
  releaseLists(pipeline);
  return (server) => {
    const known = current.get(server);
    if (partial.has(server)) return { definitions: null, unread: UNREAD };
    if (known === undefined) return { definitions: null };
    const { start = {}, name, instructions, lists, isMet } = known;
    const { tools = [], prompts = [], resources = [], resourceTemplates = [] } = lists;
    const locked = lockedLists({ tools, prompts, resources, resourceTemplates });
    const written = writtenServer({ start, name, instructions, lists: locked });
    return { definitions: { ...written, isMet } };
  };
}
