/** Rules for what servers say of themselves: hidden text, orders to the model, requests for secrets (`cardea scan`, `trust.scan`, docs/scan-rules.md). */
import type { Feature } from "../../cli/feature.js";
import { COMMANDS } from "./cli/commands.js";

/** Always there; scans when it is asked, or when another feature asks for it. */
export const scan: Feature = {
  name: "scan",
  loadSections: async () => (await import("./section.js")).SECTIONS,
  commands: COMMANDS,
  async loadAdmin() {
    return { pages: [(await import("./admin.js")).PAGE], actions: [] };
  },
  open: async () => (await import("./open-feature.js")).openFeature(),
};
