/** Secrets that the config gives to one server reach no other server and no host (docs/secrets.md). */
import type { Feature } from "../../cli/feature.js";
import type { LayeredServer, OpenFeature } from "../../core/feature.js";
import type { Logger } from "../../core/logger.js";
import { type Direction, RemovedSecrets, SECRETS_REMOVED } from "./metrics.js";
import type { SecretsAt } from "./without-secrets.js";

/** Always on; without a secret in the config it adds no layer. */
export const ownSecrets: Feature = {
  name: "own-secrets",
  counters: [SECRETS_REMOVED],
  open: async (_, { logger }) => openFeature(logger),
};

async function openFeature(logger: Logger): Promise<OpenFeature> {
  const [{ SecretValues }, { messagesWithoutSecrets, withoutSecrets }] = await Promise.all([
    import("./secret-values.js"),
    import("./without-secrets.js"),
  ]);
  const removed = new RemovedSecrets((server, direction) =>
    logger.warn({ event: "own_secret_removed", server, direction }, WARNINGS[direction]),
  );

  /** Undefined where there is nothing to take out. */
  function secretsAt(server: LayeredServer, servers: readonly LayeredServer[]): SecretsAt | undefined {
    const own = new Set(server.secrets());
    const all = servers.flatMap((each) => each.secrets());
    const toHost = new SecretValues(all);
    if (toHost.isEmpty) return undefined;
    const toServer = new SecretValues(all.filter((value) => !own.has(value)));
    return { toServer, toHost, onRemoved: (direction) => removed.add(server.name, direction) };
  }

  return {
    name: "own-secrets",
    serverLayers(server, servers) {
      const secrets = secretsAt(server, servers);
      return secrets === undefined ? {} : { person: withoutSecrets(secrets) };
    },
    outsideCalls(server, servers) {
      const secrets = secretsAt(server, servers);
      return secrets === undefined ? undefined : messagesWithoutSecrets(secrets);
    },
    counterReadings: [removed.reading],
    close: async () => {},
  };
}

const WARNINGS: Readonly<Record<Direction, string>> = {
  to_server: "a call had a secret that the config gives to another server; it was taken out",
  to_host: "a message of the server had a secret that the config gives to a server; it was taken out",
};
