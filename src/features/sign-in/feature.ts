/** Sign-in at servers: the gateway as a client of OAuth, for each of its principals (docs/sign-in.md). */
import type { Feature } from "../../cli/feature.js";
import { COMMANDS } from "./cli/commands.js";
import { COUNTERS, EXPIRING } from "./metrics.js";

/** Always there where there is a state folder: a server may ask for a sign-in without a word in the config. */
export const signIn: Feature = {
  name: "sign-in",
  loadSections: async () => [(await import("./section.js")).section],
  commands: COMMANDS,
  gauges: [EXPIRING],
  counters: COUNTERS,
  loadAdmin: async () => (await import("./admin-actions.js")).ADMIN,
  async open(_, { stateFolder, logger }) {
    if (stateFolder === undefined) return undefined;
    const { openFeature } = await import("./open-feature.js");
    return openFeature(stateFolder, logger);
  },
  async probe(probed, { stateFolder }) {
    if (stateFolder === undefined) return probed.connect(undefined);
    const { probeWithSignIn } = await import("./probe-sign-in.js");
    return probeWithSignIn(probed, stateFolder);
  },
};
