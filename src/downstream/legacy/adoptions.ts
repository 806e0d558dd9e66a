/** How does a session over HTTP outlive its replica? Its record is kept up to date, and others open it under the same id. */
import type { SessionRecords } from "../../core/cluster.js";
import { inBackground, type Logger } from "../../core/logger.js";
import { issuerOf } from "../../core/owners.js";
import { HEADER } from "../../wire/names.js";
import type { HttpExchange } from "../edge.js";
import { openAdoptedSession, type SessionOpener } from "./handshake.js";
import type { Revision } from "./revision.js";
import type { Session, SessionParts } from "./session.js";

/** What taking sessions over needs. */
export interface AdoptionParts {
  readonly records: SessionRecords;
  readonly sessionOpener: SessionOpener;
  readonly logger: Logger;
  /** This process. */
  readonly issuer?: string;
  /** Where the messages of an adopted session go. */
  readonly transportOf: (
    id: string,
    revision: Revision,
    exchange: HttpExchange,
  ) => Pick<SessionParts, "id" | "sink" | "streams">;
}

/** Sessions that are taken over at the same time; those of a whole replica may come at once, and the rest wait their turn. */
const MAX_AT_ONCE = 64;

/** The sessions of other replicas that this one takes over, each once, and the records of its own. */
export class Adoptions {
  /** Sessions that are being taken over, by their ids. */
  readonly #running = new Map<string, Promise<void>>();
  #free = MAX_AT_ONCE;
  readonly #waiting: (() => void)[] = [];

  constructor(private readonly parts: AdoptionParts) {}

  /** Takes the session of an exchange over where its replica is gone; undefined where there is nothing to take over. */
  begin(exchange: HttpExchange): Promise<void> | undefined {
    const { sessionOpener, issuer } = this.parts;
    const said = exchange.request.headers[HEADER.sessionId];
    const id = Array.isArray(said) ? said.join(", ") : said;
    if (id === undefined || sessionOpener.store.has(id)) return this.#running.get(id ?? "");
    const from = issuerOf(id);
    // A session of this replica is adopted only if another one has taken it over; any other has ended.
    if (from === undefined || (from === issuer && !this.parts.records.hasMoved(id))) return undefined;
    const adoption = this.#running.get(id) ?? this.#inTurn(() => this.#adopt(id, exchange));
    this.#running.set(id, adoption);
    const forget = (): void => void this.#running.delete(id);
    adoption.then(forget, forget);
    return adoption;
  }

  async #inTurn(adopt: () => Promise<void>): Promise<void> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((turn) => this.#waiting.push(turn));
    try {
      await adopt();
    } finally {
      // The place goes to the next in line.
      const next = this.#waiting.shift();
      if (next === undefined) this.#free += 1;
      else next();
    }
  }

  async #adopt(id: string, exchange: HttpExchange): Promise<void> {
    const { records, sessionOpener, logger, transportOf } = this.parts;
    const adopted = await records.adopt(id, exchange.principal, exchange.endpoint);
    if (adopted === undefined) return;
    const opening = openAdoptedSession(sessionOpener, adopted, exchange, (revision) =>
      transportOf(id, revision, exchange),
    );
    const { session, restored } = await opening.catch((error: unknown) => {
      records.release(id);
      throw error;
    });
    // Until then the record of the replica before holds: it names the subscriptions.
    const kept = restored.then(() => {
      if (!session.hasEnded) this.keep(session);
    });
    inBackground(kept, logger, "following the resources of a session again");
    logger.info({ session: id.slice(0, 8), from: adopted.from }, "took over a session whose replica is gone");
  }

  /** Keeps a record of the session for the replica that takes it over. */
  keep(session: Session): void {
    const { records } = this.parts;
    session.onChanged = () => {
      const { client, revision, logLevel, subscriptions } = session;
      const { principal, endpoint, capabilities, info } = client;
      records.write(session.id, {
        ...{ principal, endpoint, capabilities, revision: revision.name },
        ...(info !== undefined && { info }),
        ...(logLevel !== undefined && { logLevel }),
        subscriptions: [...subscriptions.subscribedResources],
      });
    };
    session.onChanged();
  }
}
