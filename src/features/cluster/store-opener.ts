/** Opens the store in another process of this machine, which is given its settings (`SharedStore.recipe`). */
import { SILENT } from "../../core/logger.js";
import type { OwnStore } from "../../core/shared-store.js";
import type { StoreConfig } from "./config.js";
import { openStore } from "./store.js";

export const openShared = (settings: unknown): Promise<OwnStore> =>
  openStore({ config: settings as StoreConfig, logger: SILENT });
