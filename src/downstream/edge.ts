/** What do the listeners hand to an era, which era gets it, and what do both eras have in common? */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Principal } from "../core/client.js";
import { badRequest, GatewayError, refusalError } from "../core/errors.js";
import type { Logger } from "../core/logger.js";
import {
  type Batch,
  type Envelope,
  type IdKey,
  idKeyOf,
  isBatch,
  type MessageId,
  type RpcError,
} from "../wire/envelope.js";
import { objectAt } from "../wire/json.js";
import { writeJson } from "../wire/json-text.js";
import { CODE, LEGACY_REVISIONS, META } from "../wire/names.js";

/** The path to which hosts of the 2024-11-05 transport POST, with the id of their session in the query. */
export const MESSAGES_PATH = "/messages";

/** One HTTP request that passed the listener's checks (host, origin, size, content type, credentials). */
export interface HttpExchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly principal: Principal;
  /** "" for the whole gateway, or the NAME of `/mcp/NAME`. */
  readonly endpoint: string;
  /** The `WWW-Authenticate` header of a 403 to a token that lacks these scopes. */
  readonly challenge: (scopes: readonly string[]) => string;
}

/** A POST: the exchange and the body, parsed once. */
export interface HttpPost extends HttpExchange {
  readonly message: Envelope | Batch;
}

/** How many event streams may be open at once. */
export interface StreamQuota {
  /**
   * Counts one stream; call the returned function when the stream is closed.
   * @throws GatewayError `overloaded`
   */
  acquire(principal: Principal): () => void;
}

/** No limit: for streams that take no connection of their own. */
export const UNLIMITED_STREAMS: StreamQuota = { acquire: () => () => {} };

/**
 * The last part (ms) of a drain. Calls that have not ended get an error when it begins, their sessions end in the middle of it,
 * and their connections are closed at its end.
 */
export const CUT_OFF_MS = 500;

/** One era's way of serving HTTP. The listener answers what a method throws with a JSON-RPC error. */
export interface HttpEdge {
  post(post: HttpPost): void | Promise<void>;
  /** GET and DELETE exist in the legacy era only. */
  get?(exchange: HttpExchange): void | Promise<void>;
  delete?(exchange: HttpExchange): void | Promise<void>;
  /**
   * Ends every stream gracefully, as its era does. Calls in flight may continue for `graceMs` (default 0); in the legacy era,
   * where a lost connection does not cancel a call, nothing else ends them.
   */
  close(graceMs?: number): Promise<void>;
}

/** What a host has not read yet of what was written to it. */
export interface Backlog {
  /** In bytes. */
  readonly unread: number;
  /** Whether the host will read nothing more. */
  readonly isGone: boolean;
  /** Calls `listener` once, when the host has read everything or is gone; only where a MiB or more is unread. */
  onceRead(listener: () => void): void;
}

/** A host at the other end of a pipe: one principal, one message per line. */
export interface Pipe {
  readonly principal: Principal;
  readonly endpoint: string;
  /** True where the host spawned this process, and takes it for the server behind it. */
  readonly isSpawnedByHost?: boolean;
  /** True where its messages come over HTTP. */
  readonly isHttp?: boolean;
  /** Absent where all that is sent is read at once. */
  readonly backlog?: Backlog;
  /** Writes one message; the text must be a single JSON document without line breaks. */
  send(text: string | Buffer): void;
}

/** One era's way of serving a pipe. */
export interface PipeEdge {
  /** Serves one message. For a request the promise resolves when the response was sent. */
  receive(message: Envelope): void | Promise<void>;
  /** Serves a batch, which exists in the legacy era only. Resolves like `receive`. */
  receiveBatch?(batch: Batch): void | Promise<void>;
  /** The principal of the pipe sent other credentials, which may grant more or less. */
  updatePrincipal?(principal: Principal): void;
  /** The host will send nothing more, but may still read: open questions get no answer. */
  onInputEnd?(): void;
  /** The pipe is gone or the gateway stops. */
  close(): Promise<void>;
}

/** The error for a fault of the gateway itself, which says nothing about the cause. */
export const GATEWAY_FAULT: RpcError = {
  code: CODE.internalError,
  message: "internal error; see the gateway's log",
};

/** The error that answers a request which failed at an edge; what is no refusal is a fault, and is logged. */
export function edgeError(error: unknown, method: string, logger: Logger): RpcError {
  if (error instanceof GatewayError) return refusalError(error);
  logger.error({ error, method }, "a request failed at the edge");
  return GATEWAY_FAULT;
}

/** `modern` is revision 2026-07-28, `legacy` every earlier one. */
export type Era = "legacy" | "modern";

/**
 * The era of a POST or of a line on a pipe (spec 2026-07-28: basic/versioning, "Backward Compatibility"). A
 * version claimed in the body's `_meta` makes it modern, whatever else it carries; without one only the
 * version header can. `initialize` without a claim and batches exist in the legacy era alone.
 *
 * On a pipe `notifications/cancelled` carries no claim in either era: it must be shown to both.
 *
 * @param version the `MCP-Protocol-Version` header, where there are headers
 */
export function eraOfMessage(message: Envelope | Batch, version?: string): Era {
  if (isBatch(message)) return "legacy";
  const meta = objectAt(message.params, "_meta");
  if (meta !== undefined && Object.hasOwn(meta, META.protocolVersion)) return "modern";
  return message.method === "initialize" ? "legacy" : eraOfHeader(version);
}

/** The era of a request without a body, and of one whose body claims nothing. */
export function eraOfHeader(version: string | undefined): Era {
  return version !== undefined && REVISION.test(version) && version > LEGACY_REVISIONS[0]
    ? "modern"
    : "legacy";
}

/** Revisions are dates, so text order is their order; whatever is no date is for the legacy era to refuse. */
const REVISION = /^\d{4}-\d{2}-\d{2}$/;

/** Requests of one session or one pipe that may be in flight at once, subscriptions among them. */
const MAX_IN_FLIGHT = 1000;

/**
 * The requests of one client that are in flight, by their ids.
 * Most clients have one request in flight at a time, which is kept outside the Map: a Map that is filled and emptied with
 * every call leaves its old tables, and the calls that they point to, in the old generation (bench/profiles.md).
 */
export class InFlight<Entry extends { readonly id: MessageId }> {
  #first: Entry | undefined;
  /** The entries that were added while there was a first. */
  #others: Map<IdKey, Entry> | undefined;

  get size(): number {
    return (this.#first === undefined ? 0 : 1) + (this.#others?.size ?? 0);
  }

  get isFull(): boolean {
    return this.size >= MAX_IN_FLIGHT;
  }

  get(id: MessageId): Entry | undefined {
    return this.#isFirst(id) ? this.#first : this.#others?.get(idKeyOf(id));
  }

  /** `entry` must have an id that no other entry has. */
  add(entry: Entry): void {
    if (this.#first === undefined) {
      this.#first = entry;
      return;
    }
    this.#others ??= new Map();
    this.#others.set(idKeyOf(entry.id), entry);
  }

  delete(id: MessageId): void {
    if (this.#isFirst(id)) this.#first = undefined;
    else this.#others?.delete(idKeyOf(id));
  }

  all(): readonly Entry[] {
    const others = [...(this.#others?.values() ?? [])];
    return this.#first === undefined ? others : [this.#first, ...others];
  }

  #isFirst(id: MessageId): boolean {
    return this.#first !== undefined && idKeyOf(this.#first.id) === idKeyOf(id);
  }
}

/** Answered with the id null: an error under the id would be taken for the response to the request in flight. */
export const duplicateId = (id: MessageId): GatewayError =>
  badRequest(`a request with the id ${writeJson(id)} is in flight already`);

/** @param owner what the limit applies to */
export const tooManyInFlight = (owner: "session" | "pipe"): GatewayError =>
  new GatewayError("overloaded", "downstream", `this ${owner} has ${MAX_IN_FLIGHT} requests in flight`, {
    retryable: true,
  });

/** From this length on (characters) pieces are written one by one. */
const MAX_JOINED = 16 * 1024 * 1024;

/**
 * Writes head and body together. `end(text)` would add an empty chunk and a gathered write (0.7 µs); headers as a flat
 * list are used directly, an object is converted (0.5 µs).
 */
export function sendJson(
  response: ServerResponse,
  status: number,
  pieces: readonly (string | Buffer)[],
): void {
  // Buffers are not copied; strings are joined, unless the result could exceed the maximum string length.
  let units = 0;
  for (const piece of pieces) units += typeof piece === "string" ? piece.length : MAX_JOINED;
  const whole = units < MAX_JOINED ? [pieces.join("")] : pieces;
  let length = 0;
  let isAscii = true;
  for (const piece of whole) {
    const bytes = Buffer.byteLength(piece);
    isAscii &&= bytes === piece.length;
    length += bytes;
  }
  response.writeHead(status, ["content-type", "application/json", "content-length", String(length)]);
  response.cork();
  // Node copies Latin-1, where UTF-8 is counted again and encoded.
  for (const piece of whole) response.write(piece, isAscii ? "latin1" : "utf8");
  response.uncork();
  response.end();
}
