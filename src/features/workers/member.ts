/** A worker as its gateway uses it. */
import type { AcceptedConnections, ProcessMember } from "../../core/process-member.js";
import type { FeatureMessages } from "../../core/replicas.js";
import { type WorkerIdentity, workerSocket } from "./identity.js";
import { admitWorkers, workerOwners } from "./worker-owners.js";

/** One of the processes that the primary process has started. */
export const memberOf = (
  identity: WorkerIdentity,
  messages: FeatureMessages,
  connections: AcceptedConnections,
): ProcessMember => ({
  number: identity.number,
  secret: identity.secret,
  messages,
  connections,
  owners: (keepsSessions) => workerOwners(identity, keepsSessions),
  listener: {
    bind: { path: workerSocket(identity, identity.number, "requests") },
    admit: admitWorkers(identity),
  },
  adminSocket: workerSocket(identity, identity.number, "admin"),
});
