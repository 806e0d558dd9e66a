/** How are the channels to a server opened? As its transport says. */
import type { ServerConfig, TransportConfig } from "../../config/config.js";
import { fetchingText, packageRunner } from "../../config/package-runner.js";
import { GatewayError } from "../../core/errors.js";
import type { Logger } from "../../core/logger.js";
import type { Envelope } from "../../wire/envelope.js";
import { openHttpChannel } from "../transport/http.js";
import { HttpPool } from "../transport/http-pool.js";
import { openSseChannel } from "../transport/sse.js";
import { openStdioChannel } from "../transport/stdio.js";
import { type ChannelFactory, type ChannelKinds, type ChannelOptions, kindOf } from "./channel-kind.js";

/** npm, uv and Docker announce that they fetch. */
const FETCH_BEGINS =
  /package was not found and will be installed|packages were not found and will be installed|^\s*Downloading\b|^Unable to find image/;

/** The channel factory for the transport that the config of `server` names. `kinds`: those of features. Default: none. */
export function channelFactory(
  server: ServerConfig,
  log: Logger,
  { kinds = [], ...options }: ChannelOptions & { readonly kinds?: ChannelKinds | undefined } = {},
): ChannelFactory {
  const { transport } = server;
  if (transport.kind === "stdio") return processChannels(server, transport, log, options);
  if (transport.kind === "http") return httpChannels(server, transport, log, options);
  return kindOf(kinds, transport).channelsTo(server, log, options);
}

type Stdio = Extract<TransportConfig, { kind: "stdio" }>;

function processChannels(
  { name, features }: Pick<ServerConfig, "name" | "features">,
  transport: Stdio,
  log: Logger,
  { onOutput, processes, startLayers, redact, ...options }: ChannelOptions,
): ChannelFactory {
  const runner = packageRunner(transport.command, transport.args);
  let isFetching = false;
  const onStderr = (line: string): void => {
    log.debug({ server: name }, line);
    // Once for each process of the gateway: the server itself may be silent for minutes.
    if (runner !== undefined && !isFetching && FETCH_BEGINS.test(line)) {
      isFetching = true;
      log.info({ server: name }, `${name}: ${fetchingText(runner)}`);
    }
    onOutput?.(line);
  };
  const unmatched = unmatchedMessages(name, log, options);
  return {
    open: (transportKind) => {
      if (transportKind === "stdio")
        return openStdioChannel({
          name,
          ...transport,
          ...unmatched,
          features,
          startLayers,
          processes,
          onStderr,
          ...(redact !== undefined && { redact }),
        });
      throw unsupportedTransport(name, transportKind);
    },
    close: async () => {},
  };
}

type Http = Extract<TransportConfig, { kind: "http" }>;

function httpChannels(
  { name, connectTimeoutMs }: ServerConfig,
  transport: Http,
  log: Logger,
  { redact, ...options }: ChannelOptions,
): ChannelFactory {
  const { url, network } = transport;
  const pool = new HttpPool({ url, network, connectTimeoutMs });
  const target = { name, url, connectTimeoutMs, pool, redact, ...unmatchedMessages(name, log, options) };
  return {
    open: async (transportKind, given, signal, credentials) => {
      const { headers } = given.transport.kind === "http" ? given.transport : transport;
      const own = { ...target, headers, credentials };
      if (transportKind === "http") return openHttpChannel(own);
      if (transportKind === "sse") return openSseChannel({ ...own, signal });
      throw unsupportedTransport(name, transportKind);
    },
    close: () => pool.destroy(),
  };
}

/** What happens to output that belongs to no request. */
const unmatchedMessages = (
  server: string,
  log: Logger,
  { onUnmatchedMessage = () => {} }: Pick<ChannelOptions, "onUnmatchedMessage">,
) => ({
  onNonProtocolOutput: (excerpt: string) =>
    log.debug({ server, excerpt }, "the server wrote a line to stdout that is not a JSON-RPC message"),
  onUnmatchedMessage: (_message: Envelope, error?: unknown) => {
    if (error !== undefined) {
      log.error({ server, error }, "a message of the server failed to be handled");
      return;
    }
    onUnmatchedMessage();
    log.debug({ server }, "the server sent a message that matches no request");
  },
});

const unsupportedTransport = (server: string, transportKind: string): GatewayError =>
  new GatewayError("upstream_unavailable", "gateway", `${server} cannot be reached over ${transportKind}`, {
    server,
  });
