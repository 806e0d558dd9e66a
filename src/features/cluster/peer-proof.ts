/**
 * How two replicas prove to each other, on a new connection, that they hold the key of the cluster. The proof is for the
 * address that was connected to, so one that a relay fetches elsewhere is for the wrong address; over TLS it is also bound to
 * the session keys of that connection.
 *
 *     → 2.hello.TEXT.MAC      who connects, to which address, a nonce, the time
 *     ← 2.proof.TEXT.MAC      who answers, a nonce, over both texts
 *     → 2.confirm..MAC        over both texts
 */
import { randomBytes } from "node:crypto";
import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import { MAX_SKEW_MS, PEER_PROTOCOL } from "../../runtime/signed-requests.js";
import { isObject, type JsonObject, stringAt } from "../../wire/json.js";
import { parseJson } from "../../wire/json-text.js";
import type { PeerKey } from "./peer-key.js";

/** The path of the exchange. */
export const PROOF_PATH = "/cluster/proof";

/** Why a replica does not prove itself to another one. */
export type ProofRefusal = "protocol" | "key" | "clock" | "address" | "replica" | "order";

/** One message of the exchange, and the texts that the next one covers. */
interface Spoken {
  /** The header. */
  readonly value: string;
  readonly text: string;
}

/** A message of the exchange, taken apart. */
interface Heard {
  readonly kind: string;
  readonly text: string;
  readonly mac: string;
  readonly content: JsonObject;
}

/** The address of a URL as both sides write it. */
export const addressOf = (url: string | URL): string => {
  const { protocol, hostname, port } = new URL(url);
  return `${hostname}:${port === "" ? (protocol === "https:" ? 443 : 80) : port}`;
};

/** An address of a socket, written the same way. */
export function socketAddress(address = "", port = 0): string {
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, "").replace(/%.*$/, "");
  const { hostname } = new URL(`http://${plain.includes(":") ? `[${plain}]` : plain}`);
  return `${hostname}:${port}`;
}

/** What is true of this connection alone: keys of its TLS session, which a relay between two connections does not share. */
export function bindingOf(socket: Socket): string {
  if (!("encrypted" in socket)) return "";
  return (socket as TLSSocket)
    .exportKeyingMaterial(32, "EXPORTER-cardea-peers", Buffer.alloc(0))
    .toString("hex");
}

/** The first message, of the replica that connects. `to`: the replica that is meant, where it is known. */
export function hello(
  key: PeerKey,
  { from, to, address }: { readonly from: string; readonly to?: string; readonly address: string },
  binding: string,
): Spoken {
  const text = textOf({ from, address, nonce: newNonce(), at: key.now(), ...(to !== undefined && { to }) });
  return spoken("hello", text, key.mac("hello", text, binding));
}

/** Checks a hello, and answers it; or says why not. */
export function answerHello(
  key: PeerKey,
  value: string,
  own: { readonly id: string; readonly local: string; readonly isOwnAddress: (address: string) => boolean },
  binding: string,
): (Spoken & { readonly helloText: string; readonly from: string }) | ProofRefusal {
  const heard = hear(value, "hello");
  if (heard === undefined) return "protocol";
  const { text: helloText, content } = heard;
  if (!key.isMac(heard.mac, "hello", helloText, binding)) return "key";
  const [from = "", address = ""] = [stringAt(content, "from"), stringAt(content, "address")];
  if (typeof content.at !== "number" || Math.abs(content.at - key.now()) > MAX_SKEW_MS) return "clock";
  if (!own.isOwnAddress(address)) return "address";
  if (content.to !== undefined && content.to !== own.id) return "replica";
  const text = textOf({ id: own.id, nonce: newNonce(), local: own.local });
  return { ...spoken("proof", text, key.mac("proof", helloText, text, binding)), helloText, from };
}

/** What a valid answer says; undefined if it proves nothing. */
export function checkProof(
  key: PeerKey,
  value: string,
  helloText: string,
  binding: string,
): { readonly text: string; readonly id: string; readonly local: string } | undefined {
  const heard = hear(value, "proof");
  if (heard === undefined || !key.isMac(heard.mac, "proof", helloText, heard.text, binding)) return undefined;
  const { text, content } = heard;
  return { text, id: stringAt(content, "id") ?? "", local: stringAt(content, "local") ?? "" };
}

/** The last message, of the replica that connects. */
export const confirmation = (key: PeerKey, helloText: string, text: string, binding: string): string =>
  spoken("confirm", "", key.mac("confirm", helloText, text, binding)).value;

/** Whether the replica that connects has proven itself too. */
export function isConfirmed(
  key: PeerKey,
  value: string,
  helloText: string,
  text: string,
  binding: string,
): boolean {
  const [version, kind, , mac = ""] = value.split(".");
  return (
    version === PEER_PROTOCOL && kind === "confirm" && key.isMac(mac, "confirm", helloText, text, binding)
  );
}

const spoken = (kind: string, text: string, mac: string): Spoken => ({
  value: [PEER_PROTOCOL, kind, text, mac].join("."),
  text,
});

const newNonce = (): string => randomBytes(24).toString("base64url");
const textOf = (content: object): string => Buffer.from(JSON.stringify(content)).toString("base64url");

function hear(value: string, expected: string): Heard | undefined {
  const [version, kind, text = "", mac = ""] = value.split(".");
  if (version !== PEER_PROTOCOL || kind !== expected) return undefined;
  try {
    const content = parseJson(Buffer.from(text, "base64url").toString("utf8"));
    return isObject(content) ? { kind, text, mac, content } : undefined;
  } catch {
    return undefined;
  }
}
