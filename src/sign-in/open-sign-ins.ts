/** The sign-ins of one process, over the vault and the folder of what is in progress. */
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Config } from "../config/config.js";
import type { Logger } from "../core/logger.js";
import { keySource, openVault } from "../vault/vault.js";
import { PendingRecords } from "./pending-records.js";
import { type SignInCounter, SignInEvents } from "./sign-in-events.js";
import { SignInPages } from "./sign-in-pages.js";
import { signInServer } from "./sign-in-server.js";
import { SignIns } from "./sign-ins.js";

/** What a process gives to its sign-ins. */
export interface OpenSignInsOptions {
  /** The config in effect. */
  readonly config: () => Config;
  /** The folder of the vault. */
  readonly folder: string;
  /** The URL of the gateway for browsers, without a slash at its end. */
  readonly baseUrl: () => string;
  readonly logger: Logger;
  readonly counter: SignInCounter;
}

/** The sign-ins, and their pages. */
export interface OpenedSignIns {
  readonly signIns: SignIns;
  readonly pages: SignInPages;
}

/** @throws VaultError where the vault cannot be used */
export async function openSignIns(options: OpenSignInsOptions): Promise<OpenedSignIns> {
  const { config, folder, baseUrl, logger, counter } = options;
  const { keys, keyFile } = config().credentials ?? {};
  const given = {
    ...(keys !== undefined && { key: keys.join("\n") }),
    ...(keyFile !== undefined && { keyFile }),
  };
  const now = () => Date.now();
  const vault = await openVault({ folder, keys: given, logger });
  const signIns = new SignIns({
    ...{ vault, baseUrl, now },
    pending: new PendingRecords({
      folder: join(dirname(folder), "sign-ins"),
      keys: keySource({ folder, keys: given }),
      now,
    }),
    events: new SignInEvents(logger, counter),
    serverOf: (name) => signInServer(config(), name),
    // An aborted wait is over, and its owner looks at the signal.
    wait: (ms, signal) => delay(ms, undefined, { signal }).catch(() => {}),
  });
  const identification = () => ({ auth: config().auth, host: config().listen.http.host });
  return { signIns, pages: new SignInPages({ signIns, identification, baseUrl, logger, now }) };
}
