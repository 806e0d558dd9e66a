/** `cardea vault rotate`: re-encrypts the stored sign-ins with the first key, or with a new one. */

import { type CommandContext, write } from "../../../cli/command-context.js";
import { EXIT } from "../../../cli/exit.js";
import { type ConfigFlags, type JsonFlag, wantsJson } from "../../../cli/flags.js";
import { openConfig } from "../../../cli/open-config.js";
import { findConfig } from "../../../config/find.js";
import type { OwnStore } from "../../../core/shared-store.js";
import { openCredentialVault } from "./credential-vault.js";

/**
 * Prints the number of re-encrypted records. Without a config the key file in the state directory is rotated. Returns
 * the exit code: 1 if a record cannot be read.
 */
export async function rotateVault(flags: ConfigFlags & JsonFlag, shell: CommandContext): Promise<number> {
  const log = await shell.openLog({ quiet: true });
  const hasConfig = findConfig({ flag: flags.config, env: shell.env, cwd: shell.cwd }) !== undefined;
  const opened = hasConfig ? await openConfig(shell, log, flags.config) : undefined;
  if (hasConfig && opened === undefined) return EXIT.config;
  const credentials = opened?.loaded.config.features.credentials;
  let store: OwnStore | undefined;
  try {
    store = opened === undefined ? undefined : await shell.openStore(opened.loaded.config, log);
    const vault = await openCredentialVault(shell.env, credentials, log, store);
    const rotation = await vault.rotate();
    const { kid, rotated, unchanged, failed, unused } = rotation;
    for (const sentence of failed) log.error({}, sentence);
    const code = failed.length === 0 ? EXIT.done : EXIT.failed;
    if (wantsJson(flags, shell.env)) {
      await write(shell.stdout, `${JSON.stringify(rotation, null, 2)}\n`);
      return code;
    }
    const before = unchanged === 0 ? "" : `; ${unchanged} already were`;
    const what = rotated === 1 ? "1 record is" : `${rotated} records are`;
    await write(shell.stderr, `${what} now encrypted under key ${kid}${before}.\n`);
    if (credentials !== undefined && unused.length > 0) {
      const which = unused.length === 1 ? `Key ${unused[0]} is` : `Keys ${unused.join(", ")} are`;
      await write(
        shell.stderr,
        `${which} needed no more: take them out of credentials when all gateways have the new one.\n`,
      );
    }
    return code;
  } catch (error) {
    if (!(error instanceof Error) || error.name !== "VaultError") throw error;
    log.error({}, error.message);
    return EXIT.failed;
  } finally {
    await store?.close();
  }
}
