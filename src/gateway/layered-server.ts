/** A server of the config, as the layers of features see it. */
import type { ConfiguredServer } from "../config/config.js";
import type { LayeredServer } from "../core/feature.js";
import { type ChannelKinds, kindOf } from "../upstream/supervision/channel-kind.js";
import { secretsOfTransport } from "./given-secrets.js";

/** Without what is the gateway's own. */
export const layered = (
  { name, transport, features, auth }: ConfiguredServer,
  kinds: ChannelKinds,
): LayeredServer => ({
  name,
  url: urlOf(transport, kinds),
  features,
  credentialsOf: auth?.as,
  secrets: () =>
    transport.kind === "unknown"
      ? []
      : secretsOfTransport(transport, (other) => [kindOf(kinds, other).urlOf(other) ?? ""]),
});

/** The address of a server; undefined for a process. */
const urlOf = (transport: ConfiguredServer["transport"], kinds: ChannelKinds): string | undefined => {
  if (transport.kind === "stdio" || transport.kind === "unknown") return undefined;
  if (transport.kind === "http") return transport.url;
  return kindOf(kinds, transport).urlOf(transport) ?? "";
};
