/** Lists of servers in the state folder, so that the next start has them before the servers run (docs/state.md). */
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Feature } from "../../cli/feature.js";

const folderIn = (stateFolder: string): string => join(stateFolder, "lists");

/** Is there with a state folder. */
export const keptLists: Feature = {
  name: "kept-lists",
  async keptLists(servers, { stateFolder, version, logger: log }) {
    const folder = folderIn(stateFolder);
    // A command that reads creates none.
    if (!existsSync(folder)) return new Map();
    const { ListFiles } = await import("./list-files.js");
    const files = new ListFiles({ folder, version, log });
    const known = servers.flatMap((server) => {
      const lists = files.open(server).known;
      return lists === undefined ? [] : [[server.name, lists] as const];
    });
    await files.close();
    return new Map(known);
  },
  async open(_, { stateFolder, version, logger: log }) {
    if (stateFolder === undefined) return undefined;
    const { ListFiles } = await import("./list-files.js");
    const files = new ListFiles({ folder: folderIn(stateFolder), version, log });
    return { name: "kept-lists", storeOf: (server) => files.open(server), close: () => files.close() };
  },
};
