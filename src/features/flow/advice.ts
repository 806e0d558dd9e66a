/** Which flow rules can match nothing, as nothing of the config has their labels? */
import type { Advised } from "../../cli/feature.js";
import type { Config } from "../../config/config.js";
import type { FlowLabels } from "./section.js";

type Label = "private" | "untrusted" | "external";

/** The key and value of each label. */
const WRITTEN = {
  private: ["reads", "private"],
  untrusted: ["content", "untrusted"],
  external: ["sends", "external"],
} as const satisfies Readonly<Record<Label, readonly [keyof FlowLabels, string]>>;

/** Sentences with their paths in the config, for `cardea check`. */
export function flowAdvice({ features, servers }: Pick<Config, "features" | "servers">): readonly Advised[] {
  const all = servers.flatMap(({ features: own, overrides = {} }) => [
    own.flow ?? {},
    ...Object.values(overrides).map((tool) => tool.features?.flow ?? {}),
  ]);
  return (features["policy.flow"] ?? []).flatMap((rule, at) =>
    ([...new Set(rule.after), rule.sends] as const).flatMap((label: Label): readonly Advised[] => {
      const [key, value] = WRITTEN[label];
      if (all.some((labels) => labels[key] === value)) return [];
      const message = `flow rule "${rule.name}" can match nothing: no server and no tool of the config has "flow": { "${key}": "${value}" }, which only annotations that cardea.lock approves could mean otherwise`;
      return [{ path: ["policy", "flow", at, label === "external" ? "sends" : "after"], message }];
    }),
  );
}
