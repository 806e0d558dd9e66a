/** Connections to other replicas. Each proves the key of the cluster before it is given a request. */
import { Agent, type ClientRequestArgs } from "node:http";
import { connect as connectPlain, isIP, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { connect as connectTls } from "node:tls";
import { LRUCache } from "lru-cache";
import type { Certificates } from "../../core/owners.js";
import { HEADER } from "../../wire/names.js";
import type { PeerKey } from "./peer-key.js";
import {
  addressOf,
  bindingOf,
  checkProof,
  confirmation,
  hello,
  PROOF_PATH,
  type ProofRefusal,
  socketAddress,
} from "./peer-proof.js";

/** The replica that connects. */
export interface PeerConnectionsOptions {
  readonly id: string;
  readonly key: PeerKey;
  /** Both sides show a certificate. */
  readonly tls?: Certificates;
}

/** What listens at the address has not proven that it is the replica that is meant. */
export class UnprovenPeer extends Error {
  override readonly name = "UnprovenPeer";
  /** `EREPLACED`: another replica has the address by now, so the process that had it has ended. */
  readonly code: string | undefined;
  /** `reason`: as it was said there; `date`: its time of day in ms. */
  constructor(
    message: string,
    readonly reason?: string,
    readonly date = Number.NaN,
  ) {
    super(message);
    this.code = reason === "replica" ? "EREPLACED" : undefined;
  }
}

/** Most replicas whose connections are kept. */
const MAX_AGENTS = 200;
/** An idle connection is closed after this time (ms), by the side that opened it. */
const IDLE_MS = 10_000;
/** Time limit (ms) of a connection with its proof. */
const PROOF_MS = 2_000;
const MAX_HEAD_LENGTH = 16_384;

/** The connections of this replica to all others. */
export class PeerConnections {
  readonly #agents = new LRUCache<string, Agent>({ max: MAX_AGENTS });

  constructor(private readonly options: PeerConnectionsOptions) {}

  get id(): string {
    return this.options.id;
  }

  get key(): PeerKey {
    return this.options.key;
  }

  /** For requests to the replica at `url`; `id`: which one it has to be, where that is known. */
  agentOf(url: string, id?: string): Agent {
    const name = `${id ?? ""} ${url}`;
    const known = this.#agents.get(name);
    if (known !== undefined) return known;
    const agent = new ProvenAgent(() => proven(url, id, this.options));
    this.#agents.set(name, agent);
    return agent;
  }

  close(): void {
    for (const agent of this.#agents.values()) agent.destroy();
  }
}

/** Opens its connections itself, each with its proof. */
class ProvenAgent extends Agent {
  constructor(private readonly open: () => Promise<Socket>) {
    super({ keepAlive: true, timeout: IDLE_MS });
  }

  override createConnection(
    _options: ClientRequestArgs,
    callback?: (error: Error | null, socket: Duplex) => void,
  ): undefined {
    // Without a socket Node reads the error only.
    const failed = callback as ((error: unknown) => void) | undefined;
    this.open()
      .then((socket) => callback?.(null, socket))
      .catch((error: unknown) => failed?.(error));
  }
}

/** A new connection whose other side is a replica of this cluster, at this address. @throws UnprovenPeer, or the error of the system */
async function proven(url: string, id: string | undefined, options: PeerConnectionsOptions): Promise<Socket> {
  const { key, tls, id: from } = options;
  const socket = open(new URL(url), tls);
  const late = setTimeout(() => socket.destroy(new Error(`no proof within ${PROOF_MS} ms`)), PROOF_MS);
  try {
    await event(socket, tls === undefined ? "connect" : "secureConnect");
    const address = addressOf(url);
    const binding = bindingOf(socket);
    const said = hello(key, { from, address, ...(id !== undefined && { to: id }) }, binding);
    const answer = await exchange(socket, address, said.value);
    const proof = checkProof(key, answer.value, said.text, binding);
    if (proof === undefined) throw unproven(address, answer);
    if (id !== undefined && proof.id !== id)
      throw new UnprovenPeer(`replica ${proof.id} is at ${address}, and not ${id}`, "replica");
    checkPlace(socket, url, proof.local, tls !== undefined);
    const last = await exchange(socket, address, confirmation(key, said.text, proof.text, binding));
    if (last.status !== 204) throw unproven(address, last);
    return socket;
  } catch (error) {
    socket.destroy();
    throw error;
  } finally {
    clearTimeout(late);
  }
}

function open({ hostname, port }: URL, tls: Certificates | undefined): Socket {
  const host = hostname.replace(/^\[|\]$/g, "");
  if (tls === undefined) return connectPlain({ host, port: Number(port || 80) });
  const servername = isIP(host) === 0 ? { servername: host } : {};
  return connectTls({ host, port: Number(port || 443), ...tls, ...servername });
}

/**
 * A name may lead elsewhere, to a relay, so the replica says where it has taken the connection. An address cannot, and over
 * TLS the proof is bound to the connection itself.
 */
function checkPlace(
  { remoteAddress, remotePort }: Socket,
  url: string,
  local: string,
  isSecure: boolean,
): void {
  const isAddress = isIP(new URL(url).hostname.replace(/^\[|\]$/g, "")) !== 0;
  const place = socketAddress(remoteAddress, remotePort);
  if (isSecure || isAddress || place === local) return;
  throw new UnprovenPeer(
    `${addressOf(url)} leads to ${place}, and its replica has taken the connection at ${local}: where addresses are translated on the way, set cluster.peers.mtls, or an IP address in advertise`,
    "address",
  );
}

const REASONS: Readonly<Record<ProofRefusal, string>> = {
  protocol: "it is of another version of Cardea",
  key: "its key of the cluster is another one",
  clock: "its clock differs by more than ten minutes",
  address: "its own address is another one",
  replica: "it is another replica",
  order: "it has not seen the beginning of the exchange",
};

interface Answer {
  readonly status: number;
  readonly value: string;
  /** The time of day in ms. */
  readonly date: number;
}

function unproven(address: string, { status, value, date }: Answer): UnprovenPeer {
  const reason = /^2\.refused\.(\w+)$/.exec(value)?.[1];
  const known = reason === undefined ? undefined : REASONS[reason as ProofRefusal];
  const why = known ?? `it answered with status ${status}, as a replica of another version does`;
  return new UnprovenPeer(
    `what listens at ${address} does not prove that it is a replica of this cluster: ${why}`,
    reason,
    date,
  );
}

/** One request without a body on a connection that has no other, and the head of its response, which has no body either. */
async function exchange(socket: Socket, address: string, value: string): Promise<Answer> {
  const head = new Promise<string>((resolve, reject) => {
    let text = "";
    const end = (error?: Error): void => {
      socket.off("data", onData).off("error", end).off("close", onClose);
      if (error === undefined) resolve(text);
      else reject(error);
    };
    const onData = (chunk: Buffer): void => {
      text += chunk.toString("latin1");
      if (text.includes("\r\n\r\n")) end();
      else if (text.length > MAX_HEAD_LENGTH)
        end(new UnprovenPeer(`what listens at ${address} speaks no HTTP`));
    };
    const onClose = (): void => end(closed());
    socket.on("data", onData).on("error", end).on("close", onClose);
  });
  socket.write(`GET ${PROOF_PATH} HTTP/1.1\r\nhost: ${address}\r\n${HEADER.peer}: ${value}\r\n\r\n`);
  return answerIn(await head);
}

function answerIn(text: string): Answer {
  const [first = "", ...lines] = text.slice(0, text.indexOf("\r\n\r\n")).split("\r\n");
  const headers = new Map(
    lines.map((line): [string, string] => {
      const at = line.indexOf(":");
      return [line.slice(0, at).toLowerCase(), line.slice(at + 1).trim()];
    }),
  );
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(first)?.[1] ?? 0);
  return { status, value: headers.get(HEADER.peer) ?? "", date: Date.parse(headers.get("date") ?? "") };
}

function event(socket: Socket, name: "connect" | "secureConnect"): Promise<void> {
  return new Promise((resolve, reject) => {
    socket
      .once(name, resolve)
      .once("error", reject)
      .once("close", () => reject(closed()));
  });
}

const closed = (): Error => Object.assign(new Error("the connection was closed"), { code: "ECONNRESET" });
