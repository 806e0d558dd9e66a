/**
 * Values in the store that replicas believe: each has a MAC of the key of the cluster, which the store does not hold, over its
 * kind, its name, the prefix of the store, and when it ends. A MAC says who wrote a value and not whether it still holds: what
 * may have ended since is asked of the other replicas (`shared-facts.ts`).
 */
import { MAX_SKEW_MS } from "../../runtime/signed-requests.js";
import type { PeerKey } from "./peer-key.js";

const FORMAT = "2";
/** Of a value without an end. */
const NEVER = 0;

/** Seals and opens the values of one cluster. */
export class AuthenticatedValues {
  /** @param namespace the prefix of the keys in the store */
  constructor(
    private readonly key: PeerKey,
    private readonly namespace: string,
  ) {}

  /** The same text for the same arguments, unless it ends. @param lifeMs it is not believed afterwards */
  seal(kind: string, name: string, text: string, lifeMs?: number): string {
    const until = String(lifeMs === undefined ? NEVER : this.key.now() + lifeMs);
    return [FORMAT, until, this.key.mac("stored", this.namespace, kind, name, until, text), text].join(".");
  }

  /** What was sealed; undefined for anything else, and after its end. */
  open(kind: string, name: string, sealed: unknown): string | undefined {
    if (typeof sealed !== "string") return undefined;
    const [format = "", until = "", mac = ""] = sealed.split(".", 3);
    if (format !== FORMAT) return undefined;
    const text = sealed.slice(format.length + until.length + mac.length + 3);
    if (!this.key.isMac(mac, "stored", this.namespace, kind, name, until, text)) return undefined;
    const end = Number(until);
    return end === NEVER || end + MAX_SKEW_MS > this.key.now() ? text : undefined;
  }
}
