/** Counts the words that tools return to hosts, and logs each result that has more than `wordCount.warnAbove` of them. */
import { z } from "zod";
import type { Feature } from "../../../src/cli/feature.js";
import { sectionOf } from "../../../src/config/section.js";
import type { Call, Middleware, Reply } from "../../../src/core/call.js";
import type { FeatureGauge } from "../../../src/core/feature.js";
import { isObject } from "../../../src/wire/json.js";

const schema = z.strictObject({
  warnAbove: z.int().min(1).default(10_000).describe("A longer result is logged with the tool's name."),
});
type Settings = z.output<typeof schema>;

const section = sectionOf({
  path: "wordCount",
  schema: schema.exactOptional().describe("Counts the words of results. A change needs a restart."),
  change: "restart",
  complete: (shape): Settings => shape,
});

const WORDS: FeatureGauge = { name: "cardea_result_words", help: "Words in the results of tools." };

/** Is there with the section `wordCount`. */
export const wordCount: Feature = {
  name: "word-count",
  loadSections: async () => [section],
  gauges: [WORDS],
  async open({ features }, { logger }) {
    const settings = features.wordCount as Settings | undefined;
    if (settings === undefined) return undefined;
    let total = 0;
    const count = (call: Call, reply: Reply): Reply => {
      const words = wordsIn(reply);
      total += words;
      if (words > settings.warnAbove) logger.warn({ tool: call.params.name, words }, "a long result");
      return reply;
    };
    const layer: Middleware = (next) => (call) => next(call).then((reply) => count(call, reply));
    return {
      name: "word-count",
      callLayers: () => ({ reply: layer }),
      readings: [{ gauge: WORDS, read: () => total }],
      close: async () => {},
    };
  },
};

function wordsIn(reply: Reply): number {
  const content = reply.kind === "result" ? reply.result.object.content : [];
  if (!Array.isArray(content)) return 0;
  const texts = content.map((block) => (isObject(block) && typeof block.text === "string" ? block.text : ""));
  return texts.join(" ").split(/\s+/).filter(Boolean).length;
}
