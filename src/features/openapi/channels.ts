/** Opens the channels to one API, which share what was read from its document. */
import type { ServerConfig } from "../../config/config.js";
import type { Logger } from "../../core/logger.js";
import type { ChannelOptions } from "../../upstream/supervision/channel-kind.js";
import type { OpenChannel } from "../../upstream/supervision/connect.js";
import { loadHttpClient } from "../../upstream/transport/http-pool.js";
import type { ApiDescription } from "./operation.js";
import { type OpenApiTransport, TYPE } from "./transport.js";

/** @param server whose transport is that of an API */
export function apiChannels(
  { name, transport, connectTimeoutMs }: ServerConfig,
  log: Logger,
  { onAnswerMisfit: onMisfit, redact }: ChannelOptions,
): OpenChannel {
  const shared = transport as OpenApiTransport;
  let loaded: ApiDescription | undefined;
  // Takes 0.1 s, which calls would wait for when the document is read.
  loadHttpClient();
  return async (_transportKind, given, signal, credentials) => {
    // Loaded only where the config has such a server that is used.
    const { openOpenApiChannel } = await import("./channel.js");
    const own = given.transport.kind === TYPE ? given.transport : shared;
    // A connection with the headers of a host has the same document, which may be large.
    const known = own === shared ? undefined : loaded;
    const onLoaded = (api: ApiDescription): void => {
      if (own === shared) loaded = api;
    };
    const source = { name, transport: own, connectTimeoutMs, credentials, redact, onMisfit, known, onLoaded };
    return openOpenApiChannel(source, log, signal);
  };
}
