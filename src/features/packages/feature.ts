/** Packages that runners fetch for servers: exact versions, no young ones, no install scripts (`packages`, docs/packages.md). */
import type { Feature } from "../../cli/feature.js";
import { section, settingsIn, settingsOf } from "./section.js";

/** Always there; without the section the defaults hold. */
export const packages: Feature = {
  name: "packages",
  loadSections: async () => [section],
  addFlags: [
    {
      flags: "--unpinned",
      description: "write the package as it is given, without its exact version (CARDEA_UNPINNED)",
      commands: ["init", "add"],
    },
  ],
  async loadAdmin() {
    const { SERVER_MEMBERS } = await import("./admin.js");
    return { pages: [], actions: [], serverMembers: SERVER_MEMBERS };
  },
  open: async ({ features }, { logger }) =>
    (await import("./open-feature.js")).openFeature(settingsOf(features), logger),
  async startLayer({ features }, { logger }) {
    const { PackageStarts } = await import("./start-layer.js");
    return new PackageStarts(settingsOf(features), logger);
  },
  pinnedPackage: async (command, args) => (await import("./package-start.js")).pinnedPackage(command, args),
  advise: async (config) => (await import("./advice.js")).adviseOn(config),
  refine: async (added) => (await import("./pin-entry.js")).pinned(added, settingsIn(added.file)),
};
