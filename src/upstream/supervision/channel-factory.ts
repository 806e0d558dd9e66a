/** How is a channel to a server opened? As a process, or as HTTP exchanges over one connection pool. */
import type { ServerConfig } from "../../config/config.js";
import { GatewayError } from "../../core/errors.js";
import type { Logger } from "../../core/logger.js";
import type { Envelope } from "../../wire/envelope.js";
import { openHttpChannel } from "../transport/http.js";
import { HttpPool } from "../transport/http-pool.js";
import type { ProcessGroups } from "../transport/process-group.js";
import { openSseChannel } from "../transport/sse.js";
import { openStdioChannel } from "../transport/stdio.js";
import type { OpenChannel } from "./connect.js";

/** Opens channels to one server. */
export interface ChannelFactory {
  readonly open: OpenChannel;
  /** Closes the connection pool that the channels shared; each channel is closed by its connection. */
  close(): Promise<void>;
}

/** What the channels of a server report, and where. */
export interface ChannelOptions {
  /** Called for each message that matches no request, such as a late response. */
  readonly onUnmatchedMessage?: (() => void) | undefined;
  /** Starts and records processes. */
  readonly processes?: ProcessGroups | undefined;
  /** Removes secrets from the last output of a process, before it is cut to length. */
  readonly redact?: ((text: string) => string) | undefined;
}

/** The channel factory for the transport that the config of `server` names. */
export function channelFactory(
  server: ServerConfig,
  log: Logger,
  { onUnmatchedMessage = () => {}, processes, redact }: ChannelOptions = {},
): ChannelFactory {
  const { name, transport } = server;
  const unmatched = {
    onNonProtocolOutput: (excerpt: string) =>
      log.debug(
        { server: name, excerpt },
        "the server wrote a line to stdout that is not a JSON-RPC message",
      ),
    onUnmatchedMessage: (_message: Envelope, error?: unknown) => {
      if (error !== undefined) {
        log.error({ server: name, error }, "a message of the server failed to be handled");
        return;
      }
      onUnmatchedMessage();
      log.debug({ server: name }, "the server sent a message that matches no request");
    },
  };
  if (transport.kind === "stdio") {
    const onStderr = (line: string): void => log.debug({ server: name }, line);
    return {
      open: (transportKind) => {
        if (transportKind === "stdio")
          return openStdioChannel({
            name,
            ...transport,
            ...unmatched,
            processes,
            onStderr,
            ...(redact !== undefined && { redact }),
          });
        throw unsupportedTransport(name, transportKind);
      },
      close: async () => {},
    };
  }
  const { url, headers } = transport;
  const pool = new HttpPool({ url, connectTimeoutMs: server.connectTimeoutMs });
  const target = { name, url, headers, connectTimeoutMs: server.connectTimeoutMs, pool, ...unmatched };
  return {
    open: async (transportKind, _server, signal) => {
      if (transportKind === "http") return openHttpChannel(target);
      if (transportKind === "sse") return openSseChannel({ ...target, signal });
      throw unsupportedTransport(name, transportKind);
    },
    close: () => pool.destroy(),
  };
}

const unsupportedTransport = (server: string, transportKind: string): GatewayError =>
  new GatewayError("upstream_unavailable", "gateway", `${server} cannot be reached over ${transportKind}`, {
    server,
  });
