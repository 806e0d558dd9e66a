/** Where the first process of tests has its workers listen. */
import type { ListenConfig } from "../../../src/config/config.js";

export const LISTEN: ListenConfig = {
  http: {
    host: "127.0.0.1",
    port: 1111,
    path: "/mcp",
    allowedHosts: [],
    allowedOrigins: [],
    maxBodyBytes: 1024,
    keepAliveMs: 75_000,
    legacySse: false,
    insecure: false,
  },
};
