/** A fence for local servers: what their processes may read, write, see and reach (`sandbox` of a server, docs/sandbox.md). */
import type { Feature, FeatureContext, FeaturedConfig } from "../../cli/feature.js";
import { section } from "./section.js";

/** Always there; servers without the section start unchanged. */
export const sandbox: Feature = {
  name: "sandbox",
  loadSections: async () => [section],
  addFlags: [
    {
      flags: "--sandbox",
      description: "run it in a sandbox that writes only the folders of its arguments (CARDEA_SANDBOX)",
      commands: ["add"],
    },
  ],
  async loadAdmin() {
    const { SERVER_MEMBERS } = await import("./admin.js");
    return { pages: [], actions: [], serverMembers: SERVER_MEMBERS };
  },
  async open(config, context) {
    const { openFeature } = await import("./open-feature.js");
    const { starts, useFiles } = await startsOf(config, context);
    return openFeature(starts, useFiles);
  },
  startLayer: async (config, context) => (await startsOf(config, context)).starts,
  findings: async (config) => (await import("./advice.js")).findingsOn(config),
  advise: async (config) => (await import("./advice.js")).adviseOn(config),
  refine: async (added) => (await import("./sandboxed-entry.js")).sandboxed(added),
};

async function startsOf({ files = [] }: FeaturedConfig, { env, stateFolder, logger: log }: FeatureContext) {
  const [{ SandboxedStarts }, { thisMachine, Trial }, { homeFolder }] = await Promise.all([
    import("./start-layer.js"),
    import("./trial.js"),
    import("../../config/home-folder.js"),
  ]);
  let configFiles = files;
  const starts = new SandboxedStarts({
    ...{ home: homeFolder(env), stateFolder, log },
    configFiles: () => configFiles,
    trial: new Trial(thisMachine(env)),
  });
  const useFiles = (all: readonly string[]): void => {
    configFiles = all;
  };
  return { starts, useFiles };
}
