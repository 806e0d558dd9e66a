/** One request from reading to answer. What differs between HTTP and a pipe is in the outlet. */
import type { IncomingHttpHeaders } from "node:http";
import type { Call, Notice, Reply } from "../../core/call.js";
import { GatewayError } from "../../core/errors.js";
import type { GatewayPort } from "../../core/gateway-port.js";
import type { Logger } from "../../core/logger.js";
import { refusalError, unknownMethod } from "../../core/refusal.js";
import type { Request } from "../../wire/envelope.js";
import { writeJson } from "../../wire/json-text.js";
import { CODE } from "../../wire/names.js";
import { discover } from "./discover.js";
import { checkExtension } from "./extensions.js";
import { EXTENSION_OF, OWN_METHODS, REMOVED_METHODS } from "./methods.js";
import type { OpenSubscriptions } from "./open-subscriptions.js";
import type { Outlet } from "./outlet.js";
import { readCall } from "./read-call.js";
import type { Sender } from "./read-meta.js";
import { type WriteReply, writeError } from "./write-reply.js";

/** Where a request came from. */
interface Origin extends Sender {
  /** Absent on a pipe. */
  readonly headers?: IncomingHttpHeaders | undefined;
  /** See `Pipe`. */
  readonly isStandIn?: boolean | undefined;
}

/** Serves one request through its outlet; never rejects. */
export type Serve = (
  request: Request,
  origin: Origin,
  outlet: Outlet,
  subscriptions: OpenSubscriptions,
) => Promise<void>;

export function createServe(port: GatewayPort, writeReply: WriteReply, logger: Logger): Serve {
  return async function serve(request, origin, outlet, subscriptions) {
    const { id } = request;
    try {
      const { principal, scope, headers } = origin;
      const came = { principal, scope, headers, signal: outlet.signal, notify: noticesTo(outlet) };
      const call = readCall(request, came, port);
      if (call.method === OWN_METHODS.listen) await subscriptions.open(request, call, outlet);
      else outlet.answer(writeReply(id, call, await replyTo(call, origin)));
    } catch (error) {
      if (error instanceof GatewayError) {
        const { retryAfterMs } = error.options;
        outlet.answer({ ...writeError(id, refusalError(error), error.code), retryAfterMs });
        return;
      }
      logger.error({ method: request.method, error }, "a request failed at the edge");
      outlet.answer(
        writeError(id, {
          code: CODE.internalError,
          message: "the gateway failed on this request; its log says why",
        }),
      );
    }
  };

  function replyTo(call: Call, { isStandIn }: Origin): Reply | Promise<Reply> {
    if (call.method === OWN_METHODS.discover) {
      const met = isStandIn === true ? port.requireServer?.(call.client) : undefined;
      return met === undefined ? discover(call, port) : met.then(() => discover(call, port));
    }
    if (REMOVED_METHODS.has(call.method)) return notFound(call.method);
    if (!EXTENSION_OF.has(call.method)) return port.handle(call);
    return checkExtension(call, port).then(() => port.handle(call));
  }
}

function notFound(method: string): Reply {
  const error = unknownMethod(method);
  return { kind: "error", error: refusalError(error), refusal: error.code };
}

const noticesTo =
  (outlet: Outlet) =>
  ({ method, params }: Notice): void =>
    outlet.send(writeJson({ jsonrpc: "2.0", method, ...(params !== undefined && { params }) }));
