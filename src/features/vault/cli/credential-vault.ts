/** The vault of this user's gateways, for commands. */
import { join } from "node:path";
import type { Logger } from "../../../core/logger.js";
import type { SharedStore } from "../../../core/shared-store.js";
import { stateFolder } from "../../../state/state-folder.js";
import type { CredentialsConfig } from "../section.js";
import { type OpenVault, openVault } from "../vault.js";

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Opens it with the keys of the config, otherwise with those of the own key file.
 *
 * @param shared the store that keeps it, if it is not on this machine
 * @throws VaultError
 */
export function openCredentialVault(
  env: Environment,
  credentials: CredentialsConfig | undefined,
  logger: Logger,
  shared?: SharedStore,
): Promise<OpenVault> {
  const { keys, keyFile } = credentials ?? {};
  return openVault({
    folder: join(stateFolder(env), "credentials"),
    logger,
    ...(shared !== undefined && { shared }),
    keys: {
      ...(keys !== undefined && { key: keys.join(",") }),
      ...(keyFile !== undefined && { keyFile }),
    },
  });
}
