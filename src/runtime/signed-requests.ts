/**
 * Signs the requests that processes of one gateway forward to each other. The first process has authenticated the host;
 * the signature names the principal, so no credential of a host travels further.
 */
import { createHmac, hkdfSync, timingSafeEqual } from "node:crypto";
import { LRUCache } from "lru-cache";
import { ANONYMOUS, type Principal } from "../core/client.js";
import { isObject, objectAt } from "../wire/json.js";
import { parseJson, writeJson } from "../wire/json-text.js";
import { HEADER } from "../wire/names.js";

/** What the signature of a forwarded request says. */
export interface SignedRequest {
  /** The process that sends it, and the one that may take it. */
  readonly from: string;
  readonly to: string;
  /** How often the request was forwarded. */
  readonly hops: number;
  /** The authenticated host; absent in requests that processes make for themselves. */
  readonly principal?: Principal;
}

/** Allowed clock skew between processes, and the lifetime of a signature, in ms: ten minutes, and what a request takes on its way. */
export const MAX_SKEW_MS = 10 * 60_000 + 30_000;
/** Changes with the format: another one is refused. */
export const PEER_PROTOCOL = "2";
const VALUE = /^2\.([\w-]+)\.([\w-]{43})$/;
/** Principals of hosts, and characters of their texts. */
const KNOWN_LIMITS = { max: 10_000, maxSize: 16 * 1024 * 1024 };

/** Signs and verifies with a secret that all processes of the gateway share. */
export class RequestSignatures {
  readonly #key: Buffer;
  /** By its text: the same host yields the same object, so that WeakMaps can be keyed by it. */
  readonly #known = new LRUCache<string, Principal>({
    ...KNOWN_LIMITS,
    sizeCalculation: (_, text) => text.length + 1,
  });

  /** @param now the time of day in ms */
  constructor(
    secret: string,
    private readonly now: () => number = () => Date.now(),
  ) {
    this.#key = Buffer.from(hkdfSync("sha256", secret, "cardea", "requests that are forwarded, 2", 32));
    this.#known.set(textOf(ANONYMOUS), ANONYMOUS);
  }

  /** The header of a request: name and value. */
  header(request: SignedRequest, method: string, path: string): readonly [name: string, value: string] {
    const { from, to, hops, principal } = request;
    const signed = {
      ...{ from, to, hops, at: this.now() },
      ...(principal !== undefined && { principal: textOf(principal) }),
    };
    const text = Buffer.from(writeJson(signed)).toString("base64url");
    return [HEADER.peer, `${PEER_PROTOCOL}.${text}.${this.#macOf(text, method, path).toString("base64url")}`];
  }

  /** The content of a request's header; undefined if it was not signed for the process `to`, or is too old. */
  verify(value: unknown, to: string, method: string, path: string): SignedRequest | undefined {
    const parts = typeof value === "string" ? VALUE.exec(value) : null;
    if (parts === null) return undefined;
    const [, text = "", mac = ""] = parts;
    if (!timingSafeEqual(this.#macOf(text, method, path), Buffer.from(mac, "base64url"))) return undefined;
    const signed = parseJson(Buffer.from(text, "base64url").toString("utf8"));
    if (!isObject(signed) || signed.to !== to) return undefined;
    const { from, hops, at, principal } = signed;
    if (typeof from !== "string" || typeof hops !== "number" || typeof at !== "number") return undefined;
    if (Math.abs(at - this.now()) > MAX_SKEW_MS) return undefined;
    if (principal === undefined) return { from, to, hops };
    const named = typeof principal === "string" ? this.#principalIn(principal) : undefined;
    return named && { from, to, hops, principal: named };
  }

  /** `text` was signed by a process of this gateway. */
  #principalIn(text: string): Principal | undefined {
    const known = this.#known.get(text);
    if (known !== undefined) return known;
    const principal = parseJson(text);
    if (!isPrincipal(principal)) return undefined;
    this.#known.set(text, principal);
    return principal;
  }

  #macOf(text: string, method: string, path: string): Buffer {
    return createHmac("sha256", this.#key).update([method, path, text].join("\n")).digest();
  }
}

/** Numbers of claims keep their text. */
/** Its headers travel with the request itself. */
const textOf = ({ headers: _, ...principal }: Principal): string => writeJson(principal);

function isPrincipal(value: unknown): value is Principal {
  if (!isObject(value) || typeof value.id !== "string" || objectAt(value, "claims") === undefined)
    return false;
  return Array.isArray(value.groups) && value.groups.every((group) => typeof group === "string");
}
