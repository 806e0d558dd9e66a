/** What the definitions of tools cost a model, in tokens: `cardea tokens`, a page and rows of the admin API (docs/tokens.md). */
import type { Feature } from "../../cli/feature.js";
import { COMMANDS } from "./cli/commands.js";

/** Always there; counts when it is asked. */
export const tokenCounts: Feature = {
  name: "token-counts",
  commands: COMMANDS,
  async loadAdmin() {
    const { PAGE, SERVER_MEMBERS } = await import("./admin.js");
    return { pages: [PAGE], actions: [], serverMembers: SERVER_MEMBERS };
  },
  open: async (_, { servesHosts }) => (await import("./open-feature.js")).openFeature(servesHosts),
};
