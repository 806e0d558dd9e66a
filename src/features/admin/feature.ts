/** The listener for operators: health, metrics, the admin API with its pages and actions, and the console (docs/admin-api.md). */
import type { Feature } from "../../cli/feature.js";
import { COMMANDS } from "./cli/commands.js";
import type { AdminListen } from "./section.js";

const SECTION = "listen.admin";

/** What the section says without any key, for a config that was read without sections. */
export const DEFAULT_LISTEN: AdminListen = { host: "127.0.0.1", port: 8081, showArguments: false };

/** Is always there: a gateway that does not listen has it unbound. */
export const admin: Feature = {
  name: "admin",
  loadSections: async () => [(await import("./section.js")).section],
  commands: COMMANDS,
  readyHint: ({ adminUrl }, program) =>
    adminUrl === undefined ? undefined : `the console opens unlocked with: ${program} console`,
  serveFlags: [
    {
      flags: "--admin-host <host>",
      description: "the address of the admin listener (CARDEA_ADMIN_HOST)",
      replaces: { section: SECTION, key: "host", kind: "text" },
    },
    {
      flags: "--admin-port <port>",
      description: "the port of the admin listener; 0 picks a free one (CARDEA_ADMIN_PORT)",
      replaces: { section: SECTION, key: "port", kind: "port" },
    },
  ],
  async open({ features }) {
    const { createOperatorListener } = await import("./operator-listener.js");
    const { [SECTION]: listen = DEFAULT_LISTEN } = features;
    return {
      name: "admin",
      showsContent: listen.showArguments,
      operatorListener: (gateway) => createOperatorListener(listen, gateway),
      close: async () => {},
    };
  },
};
