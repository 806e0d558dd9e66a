/** Opens channels to one server: a process each, or HTTP exchanges over one pool of connections. */
import type { ServerConfig } from "../../config/config.js";
import { GatewayError } from "../../core/errors.js";
import type { Logger } from "../../core/logger.js";
import type { Envelope } from "../../wire/envelope.js";
import { openHttpChannel } from "../transport/http.js";
import { HttpPool } from "../transport/http-pool.js";
import { NO_PROCESS_REGISTRY, type ProcessRegistry } from "../transport/process-registry.js";
import { openSseChannel } from "../transport/sse.js";
import { openStdioChannel } from "../transport/stdio.js";
import type { OpenChannel } from "./connect.js";

export interface ChannelFactory {
  readonly open: OpenChannel;
  /** Ends the connections that the channels shared; the channels themselves are ended by whoever opened them. */
  close(): Promise<void>;
}

export interface ChannelOptions {
  /** Told of each message that nobody waits for, such as an answer that comes too late. */
  readonly onUnmatchedMessage?: (() => void) | undefined;
  /** Where processes are written down. */
  readonly processRegistry?: ProcessRegistry | undefined;
  /** Takes secrets out of the last words of a process, before they are cut. */
  readonly redact?: ((text: string) => string) | undefined;
}

export function channelFactory(
  server: ServerConfig,
  log: Logger,
  { onUnmatchedMessage = () => {}, processRegistry = NO_PROCESS_REGISTRY, redact }: ChannelOptions = {},
): ChannelFactory {
  const { name, transport } = server;
  const unmatched = {
    onNonProtocolOutput: (excerpt: string) =>
      log.debug({ server: name, excerpt }, "the server wrote something that is no message"),
    onUnmatchedMessage: (_message: Envelope, error?: unknown) => {
      if (error !== undefined) {
        log.error({ server: name, error }, "a message from the server could not be handled");
        return;
      }
      onUnmatchedMessage();
      log.debug({ server: name }, "the server sent a message that nobody waits for");
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
            processRegistry,
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
