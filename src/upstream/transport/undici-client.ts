/**
 * The two parts of undici that are on the path of a call. Its entry point loads fetch, caches, cookies and web
 * sockets with them, which take 8 MiB of memory for nothing.
 */
import { createRequire } from "node:module";

type Undici = typeof import("undici");

const require = createRequire(import.meta.url);
export const Client = require("undici/lib/dispatcher/client.js") as Undici["Client"];
export const buildConnector = require("undici/lib/core/connect.js") as Undici["buildConnector"];
