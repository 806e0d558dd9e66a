/** Definitions of tools in another form: shorter, and with schemas that the APIs of a family of models take (docs/tokens.md). */
import type { Feature } from "../../cli/feature.js";
import type { OpenFeature } from "../../core/feature.js";
import { explainedLines } from "./words.js";

/** Always there: a reload may turn it on. */
export const toolDefinitions: Feature = {
  name: "tool-definitions",
  loadSections: async () => (await import("./section.js")).SECTIONS,
  explainedLines,
  open: async () => openDefinitions(),
};

async function openDefinitions(): Promise<OpenFeature> {
  const [{ definitionForms }, { explainedDefinition }, { shorteningSavings }] = await Promise.all([
    import("./forms.js"),
    import("./explained.js"),
    import("./savings.js"),
  ]);
  return {
    name: "tool-definitions",
    forms: definitionForms,
    explained: explainedDefinition,
    savings: shorteningSavings,
    close: async () => {},
  };
}
