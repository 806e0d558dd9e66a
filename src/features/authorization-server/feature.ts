/** The gateway as authorization server for its hosts, in front of the company's issuer (docs/sign-in-for-hosts.md). */
import type { Feature } from "../../cli/feature.js";
import { COUNTERS } from "./metrics.js";

/** Always there: a reload may add `auth.signIn`. */
export const authorizationServer: Feature = {
  name: "authorization-server",
  loadSections: async () => [(await import("./section.js")).section],
  counters: COUNTERS,
  async open(_, context) {
    const { openFeature } = await import("./open-feature.js");
    return openFeature(context);
  },
};
