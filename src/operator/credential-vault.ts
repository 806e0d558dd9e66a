/** The vault of this user's gateways, as commands use it. */
import { join } from "node:path";
import type { CredentialsConfig } from "../config/config.js";
import type { Logger } from "../core/logger.js";
import { type OpenVault, openVault } from "../vault/vault.js";
import { stateFolder } from "./state-folder.js";

type Environment = Readonly<Record<string, string | undefined>>;

/** Opens it with the keys of the config; without any, with those of the own key file. @throws VaultError */
export function openCredentialVault(
  env: Environment,
  credentials: CredentialsConfig | undefined,
  logger: Logger,
): Promise<OpenVault> {
  const { keys, keyFile } = credentials ?? {};
  return openVault({
    folder: join(stateFolder(env), "credentials"),
    logger,
    keys: {
      ...(keys !== undefined && { key: keys.join(",") }),
      ...(keyFile !== undefined && { keyFile }),
    },
  });
}
