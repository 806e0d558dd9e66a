/** How does a session over HTTP outlive its process? Its record is kept up to date, and others open it under the same id. */

import { inBackground, type Logger } from "../../core/logger.js";
import type { SessionRecords } from "../../core/replicas.js";
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
  /** Where the messages of an adopted session go. */
  readonly transportOf: (
    id: string,
    revision: Revision,
    exchange: HttpExchange,
  ) => Pick<SessionParts, "id" | "sink" | "streams">;
}

/** Sessions that are taken over at the same time; those of a whole process may come at once, and the rest wait their turn. */
const MAX_AT_ONCE = 64;

/** The sessions of other processes that this one takes over, each once, and the records of its own. */
export class Adoptions {
  /** Sessions that are being taken over, by their ids. */
  readonly #running = new Map<string, Promise<void>>();
  #free = MAX_AT_ONCE;
  readonly #waiting: (() => void)[] = [];

  constructor(private readonly parts: AdoptionParts) {}

  /** Takes the session of an exchange over where its process is gone; undefined where there is nothing to take over. */
  begin(exchange: HttpExchange): Promise<void> | undefined {
    const { sessionOpener, records } = this.parts;
    const said = exchange.request.headers[HEADER.sessionId];
    const id = Array.isArray(said) ? said.join(", ") : said;
    if (id === undefined) return undefined;
    const running = this.#running.get(id);
    if (running !== undefined || sessionOpener.store.has(id) || !records.mayAdopt(id)) return running;
    const adoption = this.#inTurn(() => this.#adopt(id, exchange));
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
    // Until then the record of the process before holds: it names the subscriptions.
    const kept = restored.then(() => (session.hasEnded ? undefined : this.keep(session)));
    inBackground(kept, logger, "following the resources of a session again");
    logger.info({ session: id.slice(0, 8), from: adopted.from }, "took over a session whose process is gone");
  }

  /** Keeps a record of the session for the process that takes it over. A promise: see `SessionRecords.write`. */
  keep(session: Session): Promise<void> | undefined {
    const { records } = this.parts;
    const write = (): Promise<void> | undefined => {
      const { client, revision, logLevel, subscriptions } = session;
      const { principal, endpoint, capabilities, info } = client;
      return records.write(session.id, {
        ...{ principal, endpoint, capabilities, revision: revision.name },
        ...(info !== undefined && { info }),
        ...(logLevel !== undefined && { logLevel }),
        subscriptions: [...subscriptions.subscribedResources],
      });
    };
    session.onChanged = () => {
      inBackground(Promise.resolve(write()), this.parts.logger, "writing the record of a session");
    };
    return write();
  }
}
