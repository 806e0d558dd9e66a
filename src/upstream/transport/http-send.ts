/** Whether a server accepted a message that needs no response: notifications, responses, session ends. */
import type { GatewayError } from "../../core/errors.js";
import { connectionError, statusError } from "./http-errors.js";
import { HttpRequest, type OutgoingRequest } from "./http-request.js";
import type { HttpTarget } from "./http-target.js";
import { isEventStream, NO_HEADERS } from "./response-headers.js";

const MAX_BODY_BYTES = 64 * 1024;

/** A message on its way. */
export interface PendingSend {
  /** Resolves when the server has accepted it; rejects with a GatewayError (cause: HttpStatusError) if it has not. */
  readonly accepted: Promise<void>;
  /** Aborts; `accepted` rejects with `reason`. */
  abandon(reason: GatewayError): void;
}

/**
 * Sends a request and reads the status of its response.
 *
 * @param inSession the request belongs to a session; default: it has an `mcp-session-id`
 */
export function send(
  target: HttpTarget,
  outgoing: OutgoingRequest,
  inSession = isInSession(outgoing),
): PendingSend {
  let abandon: (reason: GatewayError) => void = () => {};
  const accepted = new Promise<void>((resolve, reject) => {
    let status = 0;
    let headers = NO_HEADERS;
    const chunks: Buffer[] = [];
    let size = 0;
    const finish = (): void => {
      if (status < 300) resolve();
      else reject(statusError(target, { status, headers, body: Buffer.concat(chunks), inSession }));
    };
    const http = new HttpRequest(target, outgoing, {
      head: (code, fields) => {
        status = code;
        headers = fields;
        if (status < 300) resolve();
        // An event stream here carries no message for a receiver.
        if (isEventStream(fields)) stop();
      },
      data: (chunk) => {
        size += chunk.length;
        if (status >= 300 && size <= MAX_BODY_BYTES) chunks.push(chunk);
        else if (size > MAX_BODY_BYTES) stop();
      },
      end: finish,
      fail: (error, sent) => reject(connectionError(target, error, sent)),
    });
    const stop = (): void => {
      http.abort();
      finish();
    };
    abandon = (reason) => {
      http.abort();
      reject(reason);
    };
  });
  return { accepted, abandon: (reason) => abandon(reason) };
}

const isInSession = ({ headers }: OutgoingRequest): boolean => Object.hasOwn(headers, "mcp-session-id");
