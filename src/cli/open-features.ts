/** Opens the features that a config or the environment asks for. */
import type { Config } from "../config/config.js";
import type { OpenFeature } from "../core/feature.js";
import { UsageError } from "./exit.js";
import type { Feature, FeatureContext } from "./feature.js";

/** In the order of the list; those that are open already are closed if one cannot be. @throws UsageError */
export async function openFeatures(
  features: readonly Feature[],
  config: Pick<Config, "features">,
  context: FeatureContext,
): Promise<readonly OpenFeature[]> {
  const open: OpenFeature[] = [];
  try {
    for (const feature of features) {
      const opened = await feature.open(settingsOf(feature, config), context);
      if (opened !== undefined) open.push(opened);
    }
  } catch (error) {
    await Promise.all(open.map((feature) => feature.close({ isImmediate: true })));
    throw asUsage(error);
  }
  return open;
}

/** What each worker would find wrong is found once, before there are any. @throws UsageError */
export async function checkFeatures(
  features: readonly Feature[],
  config: Pick<Config, "features">,
  context: FeatureContext,
): Promise<void> {
  for (const feature of features) {
    await feature.check?.(settingsOf(feature, config), context).catch((error: unknown) => {
      throw asUsage(error);
    });
  }
}

const settingsOf = ({ section }: Feature, { features }: Pick<Config, "features">): unknown =>
  section && features[section.path];

const asUsage = (error: unknown): unknown =>
  error instanceof RangeError ? new UsageError(error.message, { cause: error }) : error;
