/** How is a connection to a server opened for the clients that it is kept for? With what they declare, and with their credentials. */
import type { ServerConfig } from "../../config/config.js";
import type { StopSignal } from "../../core/stop.js";
import { type Connected, connect } from "../supervision/connect.js";
import type { UpstreamSettings } from "../supervision/options.js";
import type { KnownServer } from "./known-server.js";
import type { LeaseKey } from "./lease.js";
import type { RootsRequests } from "./roots-requests.js";
import { withHeaders } from "./server-credentials.js";
import type { UpstreamEvents } from "./upstream-events.js";

/** What all connections to one server have in common. */
export interface OpenSettings {
  readonly server: ServerConfig;
  readonly settings: UpstreamSettings;
  readonly known: KnownServer;
  readonly events: UpstreamEvents;
  readonly rootsRequests: RootsRequests;
}

/** Opens a connection; without `leaseKey` the shared one. @throws GatewayError as `connect` does. */
export function openConnection(
  of: OpenSettings,
  leaseKey: LeaseKey | undefined,
  signal: StopSignal,
): Promise<Connected> {
  const { server, settings, known } = of;
  const open = (): Promise<Connected> => {
    const isSession = leaseKey?.opensSession === true && known.era === "modern";
    const openNow = (): Promise<Connected> => connectOnce(of, leaseKey, isSession, signal);
    return isSession ? known.sessions.open(openNow, signal) : openNow();
  };
  const openInTurn = (): Promise<Connected> =>
    server.transport.kind === "stdio" ? settings.lifecycle.spawnLimiter.run(open, signal) : open();
  return known.sharedEra.adopted()?.then(openInTurn) ?? openInTurn();
}

function connectOnce(
  { server, settings, known, events, rootsRequests }: OpenSettings,
  leaseKey: LeaseKey | undefined,
  session: boolean,
  signal: StopSignal,
): Promise<Connected> {
  const { gateway, log, questions, lifecycle, observers, openChannel } = settings;
  const { credentials } = known;
  const id = leaseKey === undefined ? credentials.sharedId : leaseKey.credentials;
  return connect(
    {
      server: withHeaders(server, leaseKey?.headers),
      session,
      credentials: credentials.ofChannel(id),
      openChannel,
      eraCache: known.sharedEra.cache,
      protocol: {
        server: server.name,
        gateway: gateway.info,
        isAggregated: gateway.isAggregated,
        observer: events.observerFor(leaseKey, () => known.era),
        log,
        ids: lifecycle.requestIds,
      },
      legacy: {
        questions,
        owner: leaseKey?.session,
        onRootsAsked: (request) => rootsRequests.asked(request),
        remembered: leaseKey?.session === undefined ? leaseKey?.remembered : undefined,
        onTaskStatus: observers.onTaskStatus,
        random: lifecycle.random,
      },
      advertised: leaseKey?.advertised ?? {},
      advertisedFor: known.advertisedInRequests,
    },
    signal,
  );
}
