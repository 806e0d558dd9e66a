/** Which worker of this machine owns a session, parked call or task? */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Admission } from "../core/cluster.js";
import { overloaded } from "../core/errors.js";
import { issuerOf, type Owner, type Owners, type WorkerIdentity, workerSocket } from "../core/owners.js";
import { RequestSignatures } from "../runtime/signed-requests.js";
import { HEADER } from "../wire/names.js";
import { HttpRefusal, httpFailure, sendFailure } from "./http-errors.js";

/** The other workers, by the number with which their ids begin. Their sockets are in a folder of this user alone. */
export function workerOwners(identity: WorkerIdentity): Owners {
  const signatures = new RequestSignatures(identity.secret);
  const from = String(identity.number);
  const ownerOf = (number: number): Owner => ({
    name: String(number),
    address: { socketPath: workerSocket(identity, number, "requests") },
    admission: (method, path, hops, principal) =>
      signatures.header({ from, to: String(number), hops, principal }, method, path),
  });
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
      if (gone === undefined) return ownerOf(number);
      // Its sessions have ended with it; of a call the worker that is started in its place can tell what is known.
      if (kind === "session") return "nowhere";
      throw overloaded("the worker that serves this is restarting", 1_000);
    },
    close() {},
  };
}

/** Takes the requests that other workers forward to this one, and refuses all others. */
export function admitWorkers({ number, secret }: WorkerIdentity) {
  const signatures = new RequestSignatures(secret);
  return (request: IncomingMessage, response: ServerResponse): Admission | undefined => {
    const { method = "", url = "", headers } = request;
    const signed = signatures.verify(headers[HEADER.peer], String(number), method, url);
    if (signed?.principal !== undefined) return { hops: signed.hops, principal: signed.principal };
    sendFailure(
      response,
      httpFailure(new HttpRefusal(403, "forbidden", "this socket is for workers of one gateway")),
    );
    return undefined;
  };
}
