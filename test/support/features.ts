/** The features of this build, for gateways in the process of a test. */
import { test } from "vitest";
import { channelsOf, type FeatureContext, type FeaturedConfig, sectionsOf } from "../../src/cli/feature.js";
import { openFeatures } from "../../src/cli/open-features.js";
import type { OpenFeature } from "../../src/core/feature.js";
import { SILENT } from "../../src/core/logger.js";
import { FEATURES } from "../../src/features/index.js";
import type { Metrics } from "../../src/telemetry/metrics.js";

export { FEATURES };

export const hasFeature = (name: string): boolean => FEATURES.some((feature) => feature.name === name);

/** `test`, skipped in a build without one of the features. */
export const testOf = (...features: readonly string[]) => test.skipIf(!features.every(hasFeature));

/** The URIs of the gateway's own resources, which stand at the end of lists. */
export const OWN_RESOURCES: readonly string[] = hasFeature("absent-servers") ? ["cardea://servers"] : [];

/** The resources that are not the gateway's own. */
export const ofServers = <T extends { readonly uri?: unknown }>(resources: readonly T[]): readonly T[] =>
  resources.filter(({ uri }) => !OWN_RESOURCES.includes(String(uri)));

/** The sections that they add to a config file. */
export const SECTIONS = await sectionsOf(FEATURES);

/** The ways to reach servers that they add. */
export const CHANNELS = channelsOf(FEATURES);

/** The open features of a config. Default: a silent log, an empty environment; `only`: all of them. */
export const openedFeatures = (
  config: FeaturedConfig,
  context: Partial<FeatureContext> = {},
  only?: readonly string[],
): Promise<readonly OpenFeature[]> =>
  openFeatures(
    FEATURES.filter(({ name }) => only?.includes(name) !== false),
    config,
    {
      env: {},
      stateFolder: undefined,
      logger: SILENT,
      redact: (text) => text,
      version: "0.0.0-test",
      worker: undefined,
      configDigest: undefined,
      servesHosts: false,
      ...context,
    },
  );

/** Each gauge and counter of each feature has a value, with its labels. */
export function addFeatureMetrics(metrics: Metrics): void {
  const labelsOf = (names: readonly string[] = []) => Object.fromEntries(names.map((name) => [name, "any"]));
  for (const gauge of FEATURES.flatMap(({ gauges = [] }) => gauges))
    metrics.featureGauge({ gauge, labels: labelsOf(gauge.labelNames), read: () => 1 });
  const counters = FEATURES.flatMap(({ counters = [] }) => counters);
  for (const counter of new Map(counters.map((each) => [each.name, each])).values())
    metrics.featureCounter(counter)(labelsOf(counter.labelNames));
}
