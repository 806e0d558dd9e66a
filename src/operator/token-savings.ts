/** How many tokens would shorter definitions save? */
import type { DefinitionCosts } from "../catalog/definition-cost.js";
import { type Shortening, shortenTool } from "../catalog/shortened-tools.js";
import type { ExposedItem } from "../catalog/view.js";
import type { ServerConfig } from "../config/config.js";

/** A setting of the config that saves tokens. */
export interface Saving {
  /** Its key, such as `schemas.compact`. */
  readonly key: string;
  readonly value: unknown;
  readonly tokens: number;
}

/** The length that is proposed: about three sentences. */
const DESCRIPTION_LENGTH = 300;

/** Smaller savings are not worth a setting. */
const MIN_TOKENS = 100;

/** What `schemas.compact` and `descriptions.maxLength` at the top level would save. */
export function shorteningSavings(
  tools: readonly ExposedItem[],
  servers: readonly ServerConfig[],
  costs: DefinitionCosts,
): readonly Saving[] {
  const configs = new Map(servers.map((server) => [server.name, server]));
  const savedBy = (shortening: Shortening, applies: (server: ServerConfig) => boolean): number =>
    tools.reduce((saved, { route, item }) => {
      const config = configs.get(route.upstream);
      if (config === undefined || !applies(config)) return saved;
      const isOwnDescription = config.overrides?.[route.target]?.description === undefined;
      const short = shortenTool(item, shortening, isOwnDescription);
      return short === item ? saved : saved + costs.of(item).tokens - costs.of(short).tokens;
    }, 0);
  const savings: readonly Saving[] = [
    {
      key: "descriptions.maxLength",
      value: DESCRIPTION_LENGTH,
      tokens: savedBy(
        { descriptionLength: DESCRIPTION_LENGTH, compactSchemas: false },
        ({ shortening }) => shortening?.descriptionLength === undefined,
      ),
    },
    {
      key: "schemas.compact",
      value: true,
      tokens: savedBy({ compactSchemas: true }, ({ shortening }) => shortening?.compactSchemas !== true),
    },
  ];
  return savings.filter(({ tokens }) => tokens >= MIN_TOKENS);
}
