/** Which worker of this machine owns a session, parked call or task? */
import { hash } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { overloaded } from "../../core/errors.js";
import { issuerOf, type Owner, type Owners } from "../../core/owners.js";
import type { Admission } from "../../core/replicas.js";
import { HttpRefusal, httpFailure, sendFailure } from "../../downstream/http-errors.js";
import { RequestSignatures } from "../../runtime/signed-requests.js";
import { HEADER } from "../../wire/names.js";
import { type WorkerIdentity, workerSocket } from "./identity.js";

/**
 * The other workers, by the number with which their ids begin. Their sockets are in a folder of this user alone.
 *
 * @param keepsSessions whether the sessions of a worker outlive it: the one that is started in its place has them
 */
export function workerOwners(identity: WorkerIdentity, keepsSessions: boolean): Owners {
  const signatures = new RequestSignatures(identity.secret);
  const from = String(identity.number);
  const ownerOf = (number: number): Owner => ({
    name: String(number),
    address: { socketPath: workerSocket(identity, number, "requests") },
    admission: (method, path, hops, principal) =>
      signatures.header({ from, to: String(number), hops, principal }, method, path),
  });
  const numberIn = (id: string): number | undefined => {
    const issuer = issuerOf(id);
    const number = issuer === undefined || !/^\d+$/.test(issuer) ? 0 : Number(issuer);
    return number >= 1 && number <= identity.count ? number : undefined;
  };
  /** A session of an earlier start with more workers, or with one process, belongs to one of these, the same for all of them. */
  const workerOf = (id: string): number | undefined =>
    numberIn(id) ?? (keepsSessions && SESSION_ID.test(id) ? 1 + (digestOf(id) % identity.count) : undefined);
  const otherWorkerOf = (id: string): number | undefined => {
    const number = workerOf(id);
    return number === identity.number ? undefined : number;
  };
  return {
    isForeign: (id) => otherWorkerOf(id) !== undefined,
    locate(id, kind, _hops, gone) {
      const number = otherWorkerOf(id);
      if (number === undefined) return "here";
      if (gone === undefined) return ownerOf(number);
      // What it kept is gone with it, which this process answers.
      if (kind === "kept") return "here";
      // Sessions that end with it are over; of others and of a call the worker that is started in its place can tell what is known.
      if (kind === "session" && !keepsSessions) return "nowhere";
      throw overloaded("the worker that serves this is restarting", 1_000);
    },
    close() {},
  };
}

/** A UUID, with or without the process that issued it; neither states nor handles of tasks look like this. */
const SESSION_ID = /^(?:[0-9a-z]{1,8}-)?[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/;

const digestOf = (id: string): number => hash("sha256", id, "buffer").readUInt32BE(0);

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
