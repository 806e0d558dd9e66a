/** Opens a session for an `initialize`, once the gateway has introduced itself. */

import { checkParams } from "../../core/check-params.js";
import { GatewayError } from "../../core/errors.js";
import type { MemoryBudget } from "../../core/fair-share.js";
import type { GatewayApi } from "../../core/gateway-api.js";
import type { JsonObject } from "../../wire/json.js";
import type { HttpExchange, Pipe } from "../edge.js";
import { advertisedLists, clientOf, initializeResult, readInitializeParams } from "./handshake.js";
import type { QuestionLimits } from "./questions.js";
import type { Revision } from "./revision.js";
import { Session, type SessionParts } from "./session.js";
import type { SessionStore } from "./session-store.js";

/** What opening a session needs. */
export interface SessionOpener {
  readonly gateway: GatewayApi;
  readonly store: SessionStore;
  readonly questions: QuestionLimits;
  /** What is kept for sessions between their calls. */
  readonly memoryBudget: MemoryBudget;
}

/** A session that is open, and its `initialize` result. */
export interface OpenedSession {
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
  opener: SessionOpener,
  params: JsonObject | undefined,
  sender: Pick<HttpExchange | Pipe, "principal" | "endpoint"> & Pick<Pipe, "isSpawnedByHost">,
  transportOf: (revision: Revision) => Pick<SessionParts, "id" | "sink" | "streams">,
): Promise<OpenedSession> {
  checkParams("initialize", params);
  const initializeParams = readInitializeParams(params);
  const transport = transportOf(initializeParams.revision);
  const client = clientOf(initializeParams, transport.id, sender);
  const session = new Session({
    ...transport,
    client,
    revision: initializeParams.revision,
    changes: opener.gateway.changes,
    questions: opener.questions,
    memoryShare: opener.memoryBudget.shareOf(sender.principal),
  });
  // The session is registered before the first server sees it: a server that is connected for this client may request its
  // roots at once. No host knows the id yet.
  opener.store.add(session);
  try {
    if (sender.isSpawnedByHost === true) await opener.gateway.requireServer?.(client);
    const introduction = await opener.gateway.describe(client);
    if (session.hasEnded) {
      throw new GatewayError("cancelled", "gateway", "the session ended before it was open");
    }
    const result = initializeResult(initializeParams.revision, introduction);
    session.advertise(advertisedLists(introduction.capabilities));
    return { session, result };
  } catch (error) {
    opener.store.end(session, "closed");
    throw error;
  }
}
