/** How many tokens shorter definitions, or tool search instead of the whole list, would save. */
import type { DefinitionCosts } from "../catalog/definition-cost.js";
import { type Shortening, shortenTool } from "../catalog/shortened-tools.js";
import type { Snapshot } from "../catalog/view.js";
import type { ConfiguredServer, ExposureConfig } from "../config/config.js";
import { SEARCH_TOOL_NAMES, SEARCH_TOOLS } from "../core/search-tools.js";
import { type Steps, Work } from "../runtime/cooperative-yield.js";

/** A setting of the config that saves tokens. */
export interface Saving {
  /** Its key, e.g. `schemas.compact`. */
  readonly key: string;
  readonly value: unknown;
  readonly tokens: number;
}

/** The proposed length: about three sentences. */
const DESCRIPTION_LENGTH = 300;

/** Smaller savings are not worth a setting. */
const MIN_TOKENS = 100;

/** What `tools.exposure: search` would save; nothing for a list that models can read as a whole. */
export function searchSaving(
  list: Pick<Snapshot, "entries">,
  { exposure, autoThreshold }: ExposureConfig,
  costs: DefinitionCosts,
): readonly Saving[] {
  const whole = list.entries.reduce((sum, { item }) => sum + costs.of(item).tokens, 0);
  if (exposure !== "full" || whole <= autoThreshold) return [];
  const own = SEARCH_TOOL_NAMES.reduce((sum, name) => sum + costs.of(SEARCH_TOOLS[name]).tokens, 0);
  return [{ key: "tools.exposure", value: "search", tokens: whole - own }];
}

/** What `schemas.compact` and `descriptions.maxLength` at the top level would save. */
export function* shorteningSavings(
  list: Pick<Snapshot, "entries">,
  servers: readonly ConfiguredServer[],
  costs: DefinitionCosts,
): Steps<readonly Saving[]> {
  const configs = new Map(servers.map((server) => [server.name, server]));
  const work = new Work();
  const saved = { description: 0, schemas: 0 };
  for (const { route, item } of list.entries) {
    const config = configs.get(route.upstream);
    if (config === undefined) continue;
    const { shortening, overrides } = config;
    const isOwnDescription = overrides?.[route.target]?.description === undefined;
    const { bytes, tokens } = costs.of(item);
    const savedBy = (setting: Shortening): number => {
      const short = shortenTool(item, setting, isOwnDescription);
      return short === item ? 0 : tokens - costs.of(short).tokens;
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
