/** The page of a person at the URL for hosts: how to connect a host, the tools, the sign-ins (docs/person-page.md). */
import type { Feature } from "../../cli/feature.js";

/** Always there: what it shows depends on how the gateway knows persons. */
export const personPage: Feature = {
  name: "person-page",
  async open(_, { logger, servesHosts }) {
    if (!servesHosts) return undefined;
    const { openFeature } = await import("./open-feature.js");
    return openFeature(logger);
  },
};
