/** What a server's connections have to say, told to those who watch, and for whose lists it counts. */
import { inBackground } from "../core/background.js";
import type { GatewayError } from "../core/errors.js";
import type { Logger } from "../core/logger.js";
import { type Audience, EVERYBODY, type ListKind, type UpstreamObserver } from "../core/upstream.js";
import type { Met } from "./connect.js";
import type { ConnectionObserver } from "./connection.js";
import type { Tenancy } from "./lease.js";

/** Capabilities come in few combinations; a host that makes up ever new ones is not remembered for ever. */
const MAX_CLASSES = 100;

export class News {
  readonly #log: Logger;
  readonly #observers = new Set<UpstreamObserver>();
  /** The classes of clients that have listed over the connection that all share; each may see other lists. */
  readonly #classes = new Map<string, Audience>([[EVERYBODY.key, EVERYBODY]]);

  constructor(log: Logger) {
    this.#log = log;
  }

  watch(observer: UpstreamObserver): () => void {
    this.#observers.add(observer);
    return () => this.#observers.delete(observer);
  }

  /** `audience` lists over the shared connection. */
  remember(audience: Audience): void {
    this.#classes.delete(audience.key);
    this.#classes.set(audience.key, audience);
    if (this.#classes.size <= MAX_CLASSES) return;
    const oldest = [...this.#classes.keys()].find((key) => key !== EVERYBODY.key);
    if (oldest !== undefined) this.#classes.delete(oldest);
  }

  /** A connection of `tenancy` (undefined: the shared one) is open, and `missed` may have changed unheard. */
  opened(tenancy: Tenancy | undefined, { era, connection }: Met, missed: readonly string[]): void {
    if (tenancy?.spare !== true) {
      for (const audience of this.#audiences(tenancy)) this.#tell((observer) => observer.ready(audience));
    }
    // Told once the server listens again: what happens after the client has looked would otherwise be missed too.
    for (const uri of missed) {
      const told = connection.refusal(uri).then(() => this.#updated(uri, listeners(tenancy, era)));
      inBackground(told, this.#log, "telling what may have been missed");
    }
  }

  unavailable(tenancy: Tenancy | undefined, cause: GatewayError): void {
    if (tenancy === undefined) this.#tell((observer) => observer.unavailable(cause));
  }

  /** Hears what a connection of `tenancy` says. A spare one says of lists only what the first says as well. */
  hearerFor(tenancy: Tenancy | undefined, era: () => Met["era"] | undefined): ConnectionObserver {
    return {
      listChanged: (kind) => {
        if (tenancy?.spare !== true) this.#listChanged(kind, tenancy);
      },
      resourceUpdated: (uri) => this.#updated(uri, listeners(tenancy, era())),
    };
  }

  #listChanged(kind: ListKind, tenancy: Tenancy | undefined): void {
    for (const audience of this.#audiences(tenancy)) {
      this.#tell((observer) => observer.listChanged(kind, audience));
    }
  }

  #audiences(tenancy: Tenancy | undefined): readonly Audience[] {
    return tenancy === undefined ? [...this.#classes.values()] : [tenancy.audience];
  }

  #updated(uri: string, audience: Audience | undefined): void {
    this.#tell((observer) => observer.resourceUpdated(uri, audience));
  }

  #tell(say: (observer: UpstreamObserver) => void): void {
    for (const observer of [...this.#observers]) say(observer);
  }
}

/** Whose connection it is; undefined where one serves clients of every kind. */
function listeners(tenancy: Tenancy | undefined, era: Met["era"] | undefined): Audience | undefined {
  if (tenancy !== undefined) return tenancy.audience;
  return era === "modern" ? undefined : EVERYBODY;
}
