/**
 * The listener for other replicas. A connection proves the key of the cluster first; then its requests are signed, and those of
 * hosts name the principal that the other replica has authenticated.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Logger } from "../../core/logger.js";
import type { Admission } from "../../core/replicas.js";
import { HEADER } from "../../wire/names.js";
import type { PeerKey } from "./peer-key.js";
import { MESSAGE_PATH, type PeerAnswers } from "./peer-messages.js";
import {
  answerHello,
  bindingOf,
  isConfirmed,
  PROOF_PATH,
  type ProofRefusal,
  socketAddress,
} from "./peer-proof.js";

/** The status page of a replica. */
interface ReplicaPage {
  readonly id: string;
  readonly version: string;
  readonly isLeaving: boolean;
  /** The time of day in ms. */
  readonly startedAt: number;
  /** A fingerprint of the sealing secret, for comparison without revealing it. */
  readonly keys: string;
  /** The time of day in ms. */
  readonly now: number;
}

/** The path of the status page. */
export const REPLICA_PATH = "/cluster/replica";
/** In the signature of a request for the status page: the asking side may not know yet which replica it is. */
export const ANY_REPLICA = "";

interface PeerListenerOptions {
  readonly id: string;
  readonly key: PeerKey;
  readonly page: () => ReplicaPage;
  /** Whether other replicas reach this one at `address`; `local`: where the connection was taken. */
  readonly isOwnAddress: (address: string, local: string) => boolean;
  /** Answers what other replicas ask for themselves. */
  readonly answers: PeerAnswers;
  readonly logger: Logger;
}

/** A connection whose hello was answered. */
interface Begun {
  readonly helloText: string;
  readonly text: string;
  readonly from: string;
}

/**
 * Passes on requests that replicas forward for hosts, answers those that they make for themselves, and refuses all others
 * unread.
 */
export function admitPeers(options: PeerListenerOptions) {
  const { id, key, page, isOwnAddress, answers, logger } = options;
  const begun = new WeakMap<Socket, Begun>();
  const provenBy = new WeakMap<Socket, string>();

  return (request: IncomingMessage, response: ServerResponse): Admission | undefined => {
    const { method = "", url = "", headers, socket } = request;
    if (url === PROOF_PATH) {
      prove(request, response);
      return undefined;
    }
    const signed = key.requests.verify(
      headers[HEADER.peer],
      url === REPLICA_PATH ? ANY_REPLICA : id,
      method,
      url,
    );
    if (signed === undefined || signed.from !== provenBy.get(socket)) {
      refuse(request, response, headers[HEADER.peer] === undefined ? "protocol" : "key");
      return undefined;
    }
    if (url === REPLICA_PATH) {
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(page()));
      return undefined;
    }
    if (url === MESSAGE_PATH) {
      answers.serve(request, response, signed.from);
      return undefined;
    }
    if (signed.principal !== undefined) return { hops: signed.hops, principal: signed.principal };
    refuse(request, response, "key");
    return undefined;
  };

  function prove(request: IncomingMessage, response: ServerResponse): void {
    const { socket, headers } = request;
    const value = String(headers[HEADER.peer] ?? "");
    const [local, binding] = [socketAddress(socket.localAddress, socket.localPort), bindingOf(socket)];
    const before = begun.get(socket);
    if (before === undefined) answer(request, response, value, { local, binding });
    else if (isConfirmed(key, value, before.helloText, before.text, binding)) {
      provenBy.set(socket, before.from);
      response.writeHead(204).end();
    } else refuse(request, response, "key");
    if (before !== undefined) begun.delete(socket);
  }

  function answer(
    request: IncomingMessage,
    response: ServerResponse,
    value: string,
    { local, binding }: { readonly local: string; readonly binding: string },
  ): void {
    const own = { id, local, isOwnAddress: (address: string) => isOwnAddress(address, local) };
    const said = answerHello(key, value, own, binding);
    if (typeof said === "string") {
      refuse(request, response, said);
      return;
    }
    begun.set(request.socket, said);
    response.writeHead(200, { [HEADER.peer]: said.value, "content-length": "0" }).end();
  }

  function refuse({ socket }: IncomingMessage, response: ServerResponse, reason: ProofRefusal): void {
    logger.warn(
      { from: socket.remoteAddress, reason },
      `a connection to the listener for replicas was refused: ${SENTENCES[reason]}`,
    );
    response.writeHead(403, {
      "content-type": "application/json",
      connection: "close",
      [HEADER.peer]: `2.refused.${reason}`,
    });
    response.end(
      JSON.stringify({ error: `this listener is for replicas of one cluster: ${SENTENCES[reason]}` }),
    );
  }
}

const SENTENCES: Readonly<Record<ProofRefusal, string>> = {
  protocol: "it has not proven the key of the cluster, as replicas of other versions of Cardea do not",
  key: "its key is another one, or it has not proven it on this connection",
  clock: "the clocks differ by more than ten minutes",
  address: "it connected to an address that is not this replica's own, perhaps through a relay",
  replica: "it expected another replica here",
  order: "the exchange was out of order",
};
