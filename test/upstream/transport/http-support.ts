/** A channel over HTTP to a server that answers as the test says. */
import { onTestFinished } from "vitest";
import { GatewayError } from "../../../src/core/errors.js";
import type { Channel } from "../../../src/upstream/transport/channel.js";
import { type HttpOptions, openHttpChannel } from "../../../src/upstream/transport/http.js";
import type { Request } from "../../../src/wire/envelope.js";
import { type Respond, type ScriptedServer, scriptedServer } from "../../support/servers/scripted-http.js";

export async function serve(respond: Respond): Promise<ScriptedServer> {
  const server = await scriptedServer(respond);
  onTestFinished(() => server.close());
  return server;
}

export function open(url: string, options: Partial<HttpOptions> = {}): Channel {
  const channel = openHttpChannel({ name: "quiz", url, headers: {}, connectTimeoutMs: 60_000, ...options });
  onTestFinished(() => channel.close());
  return channel;
}

export const request: Request = { jsonrpc: "2.0", id: 7, method: "tools/call", params: { name: "start" } };

export async function failure(promise: Promise<unknown>): Promise<GatewayError> {
  const error: unknown = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof GatewayError)) throw new Error(`expected a GatewayError, got ${String(error)}`);
  return error;
}
