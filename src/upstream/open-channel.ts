/** Opens channels to one server: a process each, or HTTP exchanges over one pool of connections. */
import type { ServerConfig } from "../config/config.js";
import { GatewayError } from "../core/errors.js";
import type { Logger } from "../core/logger.js";
import type { Envelope } from "../wire/envelope.js";
import type { OpenChannel } from "./connect.js";
import { openHttpChannel } from "./transport/http.js";
import { HttpPool } from "./transport/http-pool.js";
import { NO_LEDGER, type ProcessLedger } from "./transport/process-ledger.js";
import { openSseChannel } from "./transport/sse.js";
import { openStdioChannel } from "./transport/stdio.js";

export interface ChannelOpener {
  readonly open: OpenChannel;
  /** Ends the connections that the channels shared; the channels themselves are ended by whoever opened them. */
  close(): Promise<void>;
}

export interface ChannelParts {
  /** Told of each message that nobody waits for, such as an answer that comes too late. */
  readonly stray?: (() => void) | undefined;
  /** Where processes are written down. */
  readonly ledger?: ProcessLedger | undefined;
  /** Takes secrets out of the last words of a process, before they are cut. */
  readonly redact?: ((text: string) => string) | undefined;
}

export function channelOpener(
  server: ServerConfig,
  log: Logger,
  { stray = () => {}, ledger = NO_LEDGER, redact }: ChannelParts = {},
): ChannelOpener {
  const { name, transport } = server;
  const leftovers = {
    onJunk: (excerpt: string) =>
      log.debug({ server: name, excerpt }, "the server wrote something that is no message"),
    onStray: (_message: Envelope, error?: unknown) => {
      if (error !== undefined) {
        log.error({ server: name, error }, "a message from the server could not be handled");
        return;
      }
      stray();
      log.debug({ server: name }, "the server sent a message that nobody waits for");
    },
  };
  if (transport.kind === "stdio") {
    const onStderr = (line: string): void => log.debug({ server: name }, line);
    return {
      open: (way) => {
        if (way === "stdio")
          return openStdioChannel({
            name,
            ...transport,
            ...leftovers,
            ledger,
            onStderr,
            ...(redact !== undefined && { redact }),
          });
        throw unfit(name, way);
      },
      close: async () => {},
    };
  }
  const { url, headers } = transport;
  const pool = new HttpPool({ url, connectTimeoutMs: server.connectTimeoutMs });
  const target = { name, url, headers, connectTimeoutMs: server.connectTimeoutMs, pool, ...leftovers };
  return {
    open: async (way, _server, signal) => {
      if (way === "http") return openHttpChannel(target);
      if (way === "sse") return openSseChannel({ ...target, signal });
      throw unfit(name, way);
    },
    close: () => pool.destroy(),
  };
}

const unfit = (server: string, way: string): GatewayError =>
  new GatewayError("upstream_unavailable", "gateway", `${server} cannot be reached over ${way}`, { server });
