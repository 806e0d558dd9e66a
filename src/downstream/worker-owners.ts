/** Which worker of this machine owns a session, parked call or task? */
import { overloaded } from "../core/errors.js";
import { issuerOf, type Owners, type WorkerIdentity, workerSocket } from "../core/owners.js";

/** The other workers, by the number with which their ids begin. */
export function workerOwners(identity: WorkerIdentity): Owners {
  const otherWorkerOf = (id: string): number | undefined => {
    const issuer = issuerOf(id);
    const number = issuer === undefined || !/^\d+$/.test(issuer) ? 0 : Number(issuer);
    return number >= 1 && number <= identity.count && number !== identity.number ? number : undefined;
  };
  return {
    isForeign: (id) => otherWorkerOf(id) !== undefined,
    locate(id, kind, _hops, gone) {
      const number = otherWorkerOf(id);
      if (number === undefined) return "here";
      if (gone === undefined)
        return { name: String(number), address: { socketPath: workerSocket(identity, number, "requests") } };
      // Its sessions have ended with it; of a call the worker that is started in its place can tell what is known.
      if (kind === "session") return "nowhere";
      throw overloaded("the worker that serves this is restarting", 1_000);
    },
    close() {},
  };
}
