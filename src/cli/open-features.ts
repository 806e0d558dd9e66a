/** Opens the features that a config or the environment asks for. */
import type { OpenFeature } from "../core/feature.js";
import { UsageError } from "./exit.js";
import type { Feature, FeatureContext, FeaturedConfig } from "./feature.js";

/** In the order of the list; those that are open already are closed if one cannot be. @throws UsageError */
export async function openFeatures(
  features: readonly Feature[],
  config: FeaturedConfig,
  context: FeatureContext,
): Promise<readonly OpenFeature[]> {
  const open: OpenFeature[] = [];
  try {
    for (const feature of features) {
      const opened = await feature.open(config, context);
      if (opened !== undefined) open.push(opened);
    }
  } catch (error) {
    await Promise.all(open.map((feature) => feature.close({ isImmediate: true })));
    throw asUsage(error);
  }
  return open;
}

/** What each of several processes would find wrong is found once, before there are any. @throws UsageError */
export async function checkFeatures(
  features: readonly Feature[],
  config: FeaturedConfig,
  context: FeatureContext,
): Promise<void> {
  for (const feature of features) {
    await feature.check?.(config, context).catch((error: unknown) => {
      throw asUsage(error);
    });
  }
}

const asUsage = (error: unknown): unknown =>
  error instanceof RangeError ? new UsageError(error.message, { cause: error }) : error;
