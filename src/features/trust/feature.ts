/** Definitions of servers, pinned by a file that is reviewed: `cardea.lock`, `cardea lock` and `cardea approve` (`trust`, docs/trust.md). */
import type { Feature } from "../../cli/feature.js";
import { COMMANDS } from "./cli/commands.js";
import { CHANGES, FINDINGS, HELD } from "./metrics.js";

/** Is there with a config file; without the section it observes. */
export const trust: Feature = {
  name: "trust",
  loadSections: async () => (await import("./section.js")).SECTIONS,
  commands: COMMANDS,
  gauges: [HELD],
  counters: [CHANGES, FINDINGS],
  async loadAdmin() {
    const { APPROVED, PAGE, SERVER_MEMBERS } = await import("./admin.js");
    return { pages: [PAGE], actions: [APPROVED], serverMembers: SERVER_MEMBERS };
  },
  async open({ file }, { logger, redact, servesHosts }) {
    if (file === undefined) return undefined;
    const [{ openTrust }, { lockPath }] = await Promise.all([
      import("./open-feature.js"),
      import("./lock/lock-file.js"),
    ]);
    return openTrust({ file: lockPath(file), logger, redact, isServing: servesHosts });
  },
};
