/** What is agreed with a server of a revision up to 2025-11-25? The handshake: `initialize`, `notifications/initialized`. */
import { GatewayError } from "../../core/errors.js";
import { TASKS_EXTENSION } from "../../core/methods.js";
import type { StopSignal } from "../../core/stop.js";
import type { ServerFacts } from "../../core/upstream.js";
import type { RpcError } from "../../wire/envelope.js";
import { type JsonObject, objectAt, stringAt, without } from "../../wire/json.js";
import { HEADER, LEGACY_REVISIONS, OWN_META } from "../../wire/names.js";
import { nextId } from "../protocol/ids.js";
import type { Channel, Headers } from "../transport/channel.js";

/** What `initialize` carries. */
export interface HandshakeSettings {
  readonly server: string;
  readonly gateway: { readonly name: string; readonly version: string };
  /** The revision to offer; the server may answer with an older one. */
  readonly revision: string;
  readonly capabilities: JsonObject;
  readonly signal: StopSignal;
}

/** The result of the handshake, and the headers that every later message of the session carries. */
export interface NegotiatedSession {
  readonly facts: ServerFacts;
  readonly revision: string;
  readonly sessionId: string | undefined;
  readonly headers: Headers;
}

/** The server answered `initialize` with an error. */
export class HandshakeRefused extends Error {
  override readonly name = "HandshakeRefused";
  constructor(
    readonly error: RpcError,
    readonly status: number,
  ) {
    super(`initialize was refused: ${error.message}`);
  }
}

/** A revision before the first published one, which some old servers answer with; the differences do not matter here. */
const OLDEST_KNOWN = "2024-10-07";

/**
 * Performs the handshake. An abort only ends the wait: `initialize` must not be cancelled by a notification
 * (2025-11-25, basic/utilities/cancellation).
 *
 * @throws HandshakeRefused, or a GatewayError of the channel.
 */
export async function performHandshake(
  channel: Channel,
  settings: HandshakeSettings,
): Promise<NegotiatedSession> {
  const answer = await channel.exchange(
    {
      jsonrpc: "2.0",
      id: nextId(),
      method: "initialize",
      params: {
        protocolVersion: settings.revision,
        capabilities: settings.capabilities,
        clientInfo: settings.gateway,
      },
    },
    { signal: settings.signal },
  );
  if (answer.message.error !== undefined) throw new HandshakeRefused(answer.message.error, answer.status);
  const result = answer.message.result ?? {};
  const revision = stringAt(result, "protocolVersion") ?? "no version";
  if (revision !== OLDEST_KNOWN && !LEGACY_REVISIONS.some((known) => known === revision)) {
    throw new GatewayError(
      "upstream_unavailable",
      "upstream",
      `${settings.server} answered initialize with ${revision}, which the gateway does not support`,
      { server: settings.server },
    );
  }
  const sessionId = answer.header(HEADER.sessionId);
  const headers: Headers = {
    [HEADER.protocolVersion]: revision,
    ...(sessionId !== undefined && { [HEADER.sessionId]: sessionId }),
  };
  await channel.post({ jsonrpc: "2.0", method: "notifications/initialized" }, { headers });
  return { facts: factsOf(result, revision), revision, sessionId, headers };
}

function factsOf(result: JsonObject, revision: string): ServerFacts {
  const instructions = stringAt(result, "instructions");
  const instance = stringAt(objectAt(result, "_meta"), OWN_META.instance);
  return {
    capabilities: withCompletions(
      knownCapabilities(objectAt(result, "capabilities") ?? {}, revision),
      revision,
    ),
    serverInfo: objectAt(result, "serverInfo") ?? {},
    ...(instructions !== undefined && { instructions }),
    ...(instance !== undefined && { instance }),
  };
}

/** Tasks came with 2025-11-25, and their extension belongs to the revisions after it (SEP-2663). */
function knownCapabilities(capabilities: JsonObject, revision: string): JsonObject {
  const known = revision < "2025-11-25" ? without(capabilities, ["tasks"]) : capabilities;
  const extensions = objectAt(known, "extensions");
  const kept = extensions && without(extensions, [TASKS_EXTENSION]);
  return kept === extensions ? known : { ...known, extensions: kept };
}

/** 2024-11-05 had completions for prompts and resources, but no capability for them: such a server is tried. */
function withCompletions(known: JsonObject, revision: string): JsonObject {
  const may = Object.hasOwn(known, "prompts") || Object.hasOwn(known, "resources");
  return may && revision < "2025-03-26" ? { completions: {}, ...known } : known;
}
