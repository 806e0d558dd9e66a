/** The stripping of one gateway. */
import type { OpenFeature } from "../../core/feature.js";
import type { Logger } from "../../core/logger.js";
import { type Carrier, StrippedTexts } from "./metrics.js";
import { isStripped } from "./section.js";
import { stripDefinitions } from "./strip-definitions.js";
import { stripMessages, stripReplies } from "./strip-messages.js";

/** Strips what each server sends, but where the config says otherwise. */
export function openStrip(logger: Logger): OpenFeature {
  const stripped = new StrippedTexts((server, carrier) =>
    logger.info({ event: "invisible_text_stripped", server, in: carrier }, SENTENCES[carrier]),
  );
  /** Of the config whose pipeline is built. */
  let ofFile: Readonly<Record<string, unknown>> = {};
  return {
    name: "strip",
    callLayers(_, { features }) {
      ofFile = features;
      return {};
    },
    serverLayers: ({ name, features }) =>
      isStripped(features, ofFile) ? { person: stripReplies(() => stripped.add(name, "message")) } : {},
    outsideCalls: ({ name, features }) =>
      isStripped(features, ofFile) ? stripMessages(() => stripped.add(name, "message")) : undefined,
    admits: ({ name, features }, config) =>
      isStripped(features, config.features)
        ? stripDefinitions(() => stripped.add(name, "definition"))
        : undefined,
    counterReadings: [stripped.reading],
    close: async () => {},
  };
}

const SENTENCES: Readonly<Record<Carrier, string>> = {
  definition: "a definition of the server had control characters or invisible text; they were taken out",
  message: "a message of the server had control characters or invisible text; they were taken out",
};
