/** The MCP endpoint: checks one request, the cheapest checks first, and passes it to the edge of its era. */
import type { IncomingMessage } from "node:http";
import { badRequest, type GatewayError } from "../core/errors.js";
import type { GatewayApi } from "../core/gateway-api.js";
import { LARGE_BYTES, runSteps } from "../runtime/cooperative-yield.js";
import {
  type Batch,
  type Envelope,
  FrameError,
  isBatch,
  type MessageId,
  parseDocument,
  parseDocumentInSteps,
} from "../wire/envelope.js";
import { exceedsDepth, MAX_DEPTH, NestedTooDeep } from "../wire/json-scan.js";
import { checkHostLengths } from "../wire/length-limits.js";
import { HEADER } from "../wire/names.js";
import { eraOfHeader, eraOfMessage, type HttpEdge, type HttpExchange } from "./edge.js";
import type { Forwarder } from "./forward-to-owner.js";
import { HttpRefusal } from "./http-errors.js";
import type { BodyBudget } from "./read-body.js";
import { checkContent, readBody } from "./read-body.js";

/** What the endpoint serves, and its limits. */
export interface McpEndpointSettings {
  readonly gateway: Pick<GatewayApi, "hasEndpoint" | "withHeaders" | "headerNames">;
  readonly modern: HttpEdge;
  readonly legacy: HttpEdge;
  readonly maxBodyBytes: number;
  readonly bodyBudget: BodyBudget;
  /** The methods that are served, for those who ask by another one. Default: all that a session needs. */
  readonly allow?: string;
  /** Where there are other processes of this gateway: takes a message that belongs to one of them. */
  readonly forwarder?: Pick<Forwarder, "forwardByMessage" | "forwardMoved">;
}

const METHODS = "GET, POST, DELETE, OPTIONS";

/** Serves one authenticated request. */
export type McpEndpoint = (exchange: HttpExchange) => Promise<void>;

/** Something failed after the message was read, so its answer can carry the id. */
export class FailedMessage extends Error {
  constructor(
    override readonly cause: unknown,
    readonly id: MessageId | undefined,
  ) {
    super("a message failed", { cause });
  }
}

/**
 * The endpoint rejects with a GatewayError, a FrameError or a fault of ours; where the id of the message is known
 * by then, inside a FailedMessage.
 */
export function mcpEndpoint(settings: McpEndpointSettings): McpEndpoint {
  const { gateway, modern, legacy, maxBodyBytes, bodyBudget, forwarder, allow = METHODS } = settings;
  const edges = { modern, legacy };

  return function mcpEndpoint(exchange) {
    const { method } = exchange.request;
    if (method === "POST") return post(exchange);
    if (method === "GET") return getOrDelete("get", exchange);
    if (method === "DELETE") return getOrDelete("delete", exchange);
    if (method !== "OPTIONS") return Promise.reject(notAllowed(allow));
    exchange.response.writeHead(204, { allow }).end();
    return Promise.resolve();
  };

  async function post(exchange: HttpExchange): Promise<void> {
    const { request, response } = exchange;
    checkContent(request);
    checkEndpoint(exchange);
    // Without Content-Length the body counts as one of the largest size.
    bodyBudget.reserve(
      Math.min(Number(request.headers["content-length"] ?? maxBodyBytes), maxBodyBytes),
      response,
    );
    let text = await readBody(request, maxBodyBytes);
    let message: Envelope | Batch;
    try {
      const document = text.length < LARGE_BYTES ? parse(text) : await parseLarge(text);
      message = checkHostLengths(document, text.length);
    } catch (error) {
      throw error instanceof FrameError ? new FailedMessage(error, error.id) : error;
    }
    const era = eraOfMessage(message, versionOf(request));
    if (forwarder !== undefined) {
      const forwarding = forwardingOf(forwarder, exchange, message, era, text);
      if (forwarding !== undefined && (await forwarding) === "done") return;
    }
    // The call may wait for long, for a person or a server; until then this frame would keep the whole body.
    text = "";
    try {
      bodyBudget.admit(message);
      const { principal, endpoint, challenge } = exchange;
      await edges[era].post({ request, response, principal, endpoint, challenge, message });
    } catch (error) {
      throw new FailedMessage(error, idOf(message));
    }
  }

  function checkEndpoint({ endpoint, principal }: HttpExchange): void {
    if (endpoint === "" || gateway.hasEndpoint(endpoint, principal)) return;
    throw new HttpRefusal(404, "unknown_target", "there is no server and no profile of this name here");
  }

  async function getOrDelete(verb: "get" | "delete", exchange: HttpExchange): Promise<void> {
    checkEndpoint(exchange);
    const edge = edges[eraOfHeader(versionOf(exchange.request))];
    if (edge[verb] === undefined) throw notAllowed(settings.allow ?? "POST, OPTIONS");
    const forwarding = forwarder?.forwardMoved(exchange);
    if (forwarding !== undefined && (await forwarding) === "done") return;
    await edge[verb](exchange);
  }
}

/**
 * Without a session, what a message brings back says whose it is. With one the listener has looked, and the session may
 * have moved since.
 */
function forwardingOf(
  forwarder: Pick<Forwarder, "forwardByMessage" | "forwardMoved">,
  exchange: HttpExchange,
  message: Envelope | Batch,
  era: "modern" | "legacy",
  text: string,
): Promise<"done" | "here"> | undefined {
  if (era === "legacy") return forwarder.forwardMoved(exchange, text, idOf(message));
  return isBatch(message) ? undefined : forwarder.forwardByMessage(exchange, message, text);
}

/** @param allow the methods that are, for the `Allow` header */
export const notAllowed = (allow: string): HttpRefusal =>
  new HttpRefusal(405, "bad_request", "this method is not allowed here", { allow });

function versionOf({ headers }: IncomingMessage): string | undefined {
  const version = headers[HEADER.protocolVersion];
  return typeof version === "string" ? version.trim() : undefined;
}

/** @throws FrameError where the text is no message; GatewayError */
function parse(text: string): Envelope | Batch {
  if (exceedsDepth(text)) throw tooDeep();
  return parseDocument(text);
}

/** The same for a large message; other requests are served in between. */
async function parseLarge(text: string): Promise<Envelope | Batch> {
  try {
    return await runSteps(parseDocumentInSteps(text, MAX_DEPTH));
  } catch (error) {
    throw error instanceof NestedTooDeep ? tooDeep() : error;
  }
}

const tooDeep = (): GatewayError => badRequest(`the body is nested deeper than ${MAX_DEPTH} levels`);

const idOf = (message: Envelope | Batch): MessageId | undefined =>
  isBatch(message) || message.method === undefined ? undefined : message.id;
