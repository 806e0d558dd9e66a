/** The packages of one gateway's servers. */
import type { OpenFeature } from "../../core/feature.js";
import type { Logger } from "../../core/logger.js";
import { SERVER_MEMBERS } from "./admin.js";
import type { PackageSettings } from "./section.js";
import { PackageStarts } from "./start-layer.js";

export function openFeature(settings: PackageSettings, log: Logger): OpenFeature {
  const starts = new PackageStarts(settings, log);
  return {
    name: "packages",
    startLayer: starts,
    serverMembers: {
      ...SERVER_MEMBERS,
      read: async () => (server) => {
        const running = starts.runningOf(server);
        if (running === undefined) return { package: null };
        const { runner, name, version = null, isPinned } = running;
        return { package: { runner, name, version, pinned: isPinned } };
      },
    },
    close: async () => starts.close(),
  };
}
