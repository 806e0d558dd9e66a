/** Opens a session for an `initialize`, once the gateway has introduced itself. */

import { checkParams } from "../../core/check-params.js";
import { GatewayError } from "../../core/errors.js";
import type { GatewayPort } from "../../core/gateway-port.js";
import type { KeptBudget } from "../../core/kept-budget.js";
import type { JsonObject } from "../../wire/json.js";
import type { HttpExchange, Pipe } from "../edge.js";
import { clientOf, initializeResult, promisedLists, readOpening } from "./handshake.js";
import type { QuestionLimits } from "./questions.js";
import type { Revision } from "./revision.js";
import { Session, type SessionParts } from "./session.js";
import type { SessionStore } from "./session-store.js";

export interface Opener {
  readonly port: GatewayPort;
  readonly store: SessionStore;
  readonly questions: QuestionLimits;
  /** What is kept for sessions between their calls. */
  readonly kept: KeptBudget;
}

export interface Opened {
  readonly session: Session;
  /** What `initialize` is answered with. */
  readonly result: JsonObject;
}

/**
 * @param ways the session's id, and where its messages go
 * @throws GatewayError when the parameters cannot be read, no more sessions can be opened, or the one server that the
 * gateway stands in for could not be met
 */
export async function openSession(
  opener: Opener,
  params: JsonObject | undefined,
  who: Pick<HttpExchange | Pipe, "principal" | "scope"> & Pick<Pipe, "isStandIn">,
  ways: (revision: Revision) => Pick<SessionParts, "id" | "general" | "streams">,
): Promise<Opened> {
  checkParams("initialize", params);
  const opening = readOpening(params);
  const way = ways(opening.revision);
  const client = clientOf(opening, way.id, who);
  const session = new Session({
    ...way,
    client,
    revision: opening.revision,
    changes: opener.port.changes,
    questions: opener.questions,
    kept: opener.kept.of(who.principal),
  });
  // It can be found before it is introduced to anybody: a server that is met on behalf of this client may ask for
  // its roots at once. Nobody outside knows the id yet.
  opener.store.add(session);
  try {
    if (who.isStandIn === true) await opener.port.requireServer?.(client);
    const introduction = await opener.port.introduce(client);
    if (session.hasEnded) {
      throw new GatewayError("cancelled", "gateway", "the session ended before it was open");
    }
    const result = initializeResult(opening.revision, introduction);
    session.promise(promisedLists(introduction.capabilities));
    return { session, result };
  } catch (error) {
    opener.store.end(session, "closed");
    throw error;
  }
}
