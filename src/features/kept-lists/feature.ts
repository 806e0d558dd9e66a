/** Lists of servers in the state folder, so that the next start has them before the servers run (docs/state.md). */
import { join } from "node:path";
import type { Feature } from "../../cli/feature.js";

/** Is there with a state folder. */
export const keptLists: Feature = {
  name: "kept-lists",
  async open(_, { stateFolder, version, logger: log }) {
    if (stateFolder === undefined) return undefined;
    const { ListFiles } = await import("./list-files.js");
    const files = new ListFiles({ folder: join(stateFolder, "lists"), version, log });
    return { name: "kept-lists", storeOf: (server) => files.open(server), close: () => files.close() };
  },
};
