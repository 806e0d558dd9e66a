/** How does the gateway send a request of its own over a legacy connection, and when is that cancelled? */
import type { StopSignal } from "../../core/stop.js";
import type { Envelope, Request } from "../../wire/envelope.js";
import type { JsonObject } from "../../wire/json.js";
import type { ChannelResponse } from "../transport/channel.js";
import { cancelled, sendCancelled } from "./calls.js";

/** The timeout (ms) of requests such as a ping, a subscription or a log level. */
const OWN_REQUEST_MS = 30_000;

/** What such a request needs of its connection. */
export interface OwnRequestSettings {
  readonly server: string;
  readonly ids: { next(): number };
  /** Sends a notification. */
  readonly post: (message: Envelope) => void;
  readonly exchange: (request: Request, signal: StopSignal) => Promise<ChannelResponse>;
}

/**
 * Sends `method`, and resolves to the response, which may be an error; without a `signal` it is cancelled after OWN_REQUEST_MS.
 *
 * @throws GatewayError `cancelled`, or that of the channel
 */
export async function sendOwnRequest(
  { server, ids, post, exchange }: OwnRequestSettings,
  method: string,
  params?: JsonObject,
  signal?: StopSignal,
): Promise<ChannelResponse> {
  if (signal?.aborted) throw cancelled(server, signal);
  const id = ids.next();
  const giveUp = new AbortController();
  const cancel = (): void => {
    sendCancelled(id, post);
    giveUp.abort();
  };
  const late = signal === undefined ? setTimeout(cancel, OWN_REQUEST_MS) : undefined;
  signal?.addEventListener("abort", cancel, { once: true });
  const request = { jsonrpc: "2.0", id, method, ...(params !== undefined && { params }) } as const;
  try {
    return await exchange(request, giveUp.signal);
  } finally {
    clearTimeout(late);
    signal?.removeEventListener("abort", cancel);
  }
}
