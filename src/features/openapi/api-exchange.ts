/** How is one HTTP request sent to an API, and its answer read as bytes? */
import { GatewayError } from "../../core/errors.js";
import type { StopSignal } from "../../core/stop.js";
import { connectionError, statusError } from "../../upstream/transport/http-errors.js";
import { HttpRequest, type OutgoingRequest } from "../../upstream/transport/http-request.js";
import type { HttpTarget } from "../../upstream/transport/http-target.js";
import { NO_HEADERS, type ResponseHeaders } from "../../upstream/transport/message-bodies.js";

/** The answer of an API. */
export interface ApiAnswer {
  readonly status: number;
  readonly headers: ResponseHeaders;
  readonly body: Buffer;
}

/** The longest answer (bytes), as for other servers. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

/**
 * Sends a request. `signal` ends it.
 *
 * @throws GatewayError `upstream_unavailable` (not sent, or a status that concerns every request: 408, 429, 500 and
 * higher), `upstream_closed` (sent, no answer), `too_large`, `cancelled`
 */
export async function exchangeWithApi(
  target: HttpTarget,
  request: OutgoingRequest,
  signal: StopSignal | undefined,
): Promise<ApiAnswer> {
  if (signal?.aborted === true) throw cancelled();
  const answer = await new Promise<ApiAnswer>((resolve, reject) => {
    let status = 0;
    let headers = NO_HEADERS;
    let size = 0;
    const chunks: Buffer[] = [];
    const settle = (): void => signal?.removeEventListener("abort", onAbort);
    const fail = (error: GatewayError): void => {
      settle();
      reject(error);
    };
    const http = new HttpRequest(target, request, {
      head: (code, fields) => {
        status = code;
        headers = fields;
      },
      data: (chunk) => {
        size += chunk.length;
        if (size <= MAX_ANSWER_BYTES) {
          chunks.push(chunk);
          return;
        }
        http.abort();
        const { name: server } = target;
        const what = `${server} sent an answer longer than ${MAX_ANSWER_BYTES} bytes`;
        fail(new GatewayError("too_large", "upstream", what, { server }));
      },
      end: () => {
        settle();
        resolve({ status, headers, body: Buffer.concat(chunks, size) });
      },
      fail: (error, sent) => fail(connectionError(target, error, sent)),
    });
    const onAbort = (): void => {
      http.abort();
      fail(cancelled());
    };
    signal?.addEventListener("abort", onAbort);
  });
  const { status, headers, body } = answer;
  if (status >= 500 || status === 408 || status === 429)
    throw statusError(target, { status, headers, body, inSession: false });
  return answer;
}

const cancelled = (): GatewayError => new GatewayError("cancelled", "downstream", "the call was cancelled");
