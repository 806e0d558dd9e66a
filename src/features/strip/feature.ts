/** Control characters and invisible text, taken out of what servers say on its way to hosts (`trust.strip`, docs/invisible-text.md). */
import type { Feature } from "../../cli/feature.js";
import { TEXTS_STRIPPED } from "./metrics.js";

/** On by default, for each server. */
export const strip: Feature = {
  name: "strip",
  loadSections: async () => (await import("./section.js")).SECTIONS,
  counters: [TEXTS_STRIPPED],
  open: async (_, { logger }) => (await import("./open-feature.js")).openStrip(logger),
};
