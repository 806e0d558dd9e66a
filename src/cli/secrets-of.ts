/** The secret values of a config: contents of variables and files, and everything secret that a server is given. */
import { channelAt } from "../config/channel-section.js";
import { type TransportConfig, usableServers } from "../config/config.js";
import type { GoodConfig } from "../config/read.js";
import { channelsOf } from "../config/section.js";
import { isPlain, secretPartsOf, secretsOfTransport } from "../gateway/given-secrets.js";
import { proxiesIn, proxyCredentials } from "../outgoing/proxy.js";

/** The secret values of a config, to redact from logs. */
export function secretsOf({ secrets, config, sections }: GoodConfig): readonly string[] {
  const channels = channelsOf(sections);
  const urlsOf = (transport: TransportConfig) =>
    Object.values(channelAt(channels, transport)?.urlsOf(transport) ?? {});
  const found = [
    ...secrets.flatMap((value) => secretPartsOf(value, isPlain(value))),
    ...usableServers(config).flatMap(({ transport }) => secretsOfTransport(transport, urlsOf)),
    ...proxiesIn(process.env).flatMap(proxyCredentials),
  ];
  return [...new Set(found)];
}
