/** How many tokens shorter definitions would save. */
import type { CountedTools, Saving, SettingsOfFeatures } from "../../core/feature.js";
import { runSteps, type Steps, Work } from "../../runtime/cooperative-yield.js";
import { shorteningOf } from "./forms.js";
import { type Shortening, shortenTool } from "./shortened-tools.js";

/** The proposed length: about three sentences. */
const DESCRIPTION_LENGTH = 300;

/** Smaller savings are not worth a setting. */
const MIN_TOKENS = 100;

/** What `schemas.compact` and `descriptions.maxLength` at the top level would save. */
export const shorteningSavings = (
  tools: CountedTools,
  config: SettingsOfFeatures,
): Promise<readonly Saving[]> => runSteps(savingsInSteps(tools, config));

function* savingsInSteps(
  { entries, costOf }: CountedTools,
  { servers, features }: SettingsOfFeatures,
): Steps<readonly Saving[]> {
  const configs = new Map(servers.map((server) => [server.name, server]));
  const work = new Work();
  const saved = { description: 0, schemas: 0 };
  for (const { route, item } of entries) {
    const config = configs.get(route.upstream);
    if (config === undefined) continue;
    const shortening = shorteningOf(config.features, features);
    const isOwnDescription = config.overrides?.[route.target]?.description === undefined;
    const { bytes, tokens } = costOf(item);
    const savedBy = (setting: Shortening): number => {
      const short = shortenTool(item, setting, isOwnDescription);
      return short === item ? 0 : tokens - costOf(short).tokens;
    };
    if (shortening?.descriptionLength === undefined)
      saved.description += savedBy({ descriptionLength: DESCRIPTION_LENGTH, compactSchemas: false });
    if (shortening?.compactSchemas !== true) saved.schemas += savedBy({ compactSchemas: true });
    yield* work.spend(bytes);
  }
  const savings: readonly Saving[] = [
    { key: "descriptions.maxLength", value: DESCRIPTION_LENGTH, tokens: saved.description },
    { key: "schemas.compact", value: true, tokens: saved.schemas },
  ];
  return savings.filter(({ tokens }) => tokens >= MIN_TOKENS);
}
