/** undici, loaded when the first HTTP server is configured: where all servers speak stdio, the gateway starts without it. */
import { createRequire } from "node:module";

const load = createRequire(import.meta.url);

/** Loads the module at the first call (111 files, a tenth of a cold start), synchronously; later calls return the same. */
export const undici = (): typeof import("undici") => load("undici") as typeof import("undici");
