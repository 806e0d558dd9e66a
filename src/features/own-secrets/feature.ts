/** Secrets that the gateway gives to one server reach no other server and no host (docs/secrets.md). */
import type { Feature } from "../../cli/feature.js";
import type { LayeredServer, OpenFeature } from "../../core/feature.js";
import type { Logger } from "../../core/logger.js";
import { type Direction, RemovedSecrets, SECRETS_REMOVED } from "./metrics.js";
import type { SecretValues } from "./secret-values.js";
import type { SecretsAt } from "./without-secrets.js";

/** Always on. Without a secret it does nothing: stdio servers then have no layer, HTTP servers one that only calls the next, as a sign-in may come. */
export const ownSecrets: Feature = {
  name: "own-secrets",
  counters: [SECRETS_REMOVED],
  open: async (_, { logger }) => openFeature(logger),
};

async function openFeature(logger: Logger): Promise<OpenFeature> {
  const [{ SecretValues }, { SignInTokens }, { messagesWithoutSecrets, withoutSecrets }, definitions] =
    await Promise.all([
      import("./secret-values.js"),
      import("./sign-in-tokens.js"),
      import("./without-secrets.js"),
      import("./clean-definitions.js"),
    ]);
  const tokens = new SignInTokens();
  const ofConfigs = new WeakMap<readonly LayeredServer[], SecretValues>();
  const removed = new RemovedSecrets((server, direction) =>
    logger.warn({ event: "own_secret_removed", server, direction }, WARNINGS[direction]),
  );

  function givenTo(servers: readonly LayeredServer[]): SecretValues {
    const values = new SecretValues();
    for (const server of servers)
      for (const secret of new Set(server.secrets())) values.add(secret, server.name);
    return values;
  }

  /** Those of a config; the same object for all of its servers. */
  function valuesOf(servers: readonly LayeredServer[]): SecretValues {
    const values = ofConfigs.get(servers) ?? givenTo(servers);
    ofConfigs.set(servers, values);
    return values;
  }

  /** Undefined where there is nothing to take out, and never will be. */
  function secretsAt(server: LayeredServer, servers: readonly LayeredServer[]): SecretsAt | undefined {
    const own = valuesOf(servers);
    const hasSignIns = servers.some(({ credentialsOf }) => credentialsOf !== undefined);
    if (own.isEmpty && !hasSignIns) return undefined;
    const values = hasSignIns ? [own, tokens.values] : [own];
    return { server: server.name, values, onRemoved: (direction) => removed.add(server.name, direction) };
  }

  return {
    name: "own-secrets",
    attach: ({ credentials }) => tokens.follow(credentials),
    serverLayers(server, servers) {
      const secrets = secretsAt(server, servers);
      return secrets === undefined ? {} : { person: withoutSecrets(secrets) };
    },
    outsideCalls(server, servers) {
      const secrets = secretsAt(server, servers);
      return secrets === undefined ? undefined : messagesWithoutSecrets(secrets);
    },
    // A server knows its own secrets, and is sent no others.
    admits(server) {
      const own = givenTo([server]);
      const hasSignIns = server.credentialsOf !== undefined;
      if (own.isEmpty && !hasSignIns) return undefined;
      const onRemoved = (): void => removed.add(server.name, "to_host");
      return definitions.cleanDefinitions(hasSignIns ? [own, tokens.values] : [own], onRemoved);
    },
    counterReadings: [removed.reading],
    close: async () => tokens.close(),
  };
}

const WARNINGS: Readonly<Record<Direction, string>> = {
  to_server: "a call had a secret that the gateway gives to another server; it was taken out",
  to_host: "a message of the server had a secret that the gateway gives to a server; it was taken out",
};
