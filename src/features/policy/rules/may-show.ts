/** May rules show anything of a server to a client, while its lists are not known? */
import { canBeginWith } from "../../../config/own-names.js";
import type { Route } from "../../../core/call.js";
import type { Client } from "../../../core/client.js";
import type { MatcherConfig, PolicyConfig } from "../config.js";
import { KEPT_SCHEMES } from "./advice.js";
import { factsOf } from "./policy-input.js";
import { namesKinds, type Rule } from "./rule.js";

/** In doubt true: `start` is a route of the server that has only the beginning of a name. */
export function mayShow(
  rules: readonly Rule[],
  fallback: PolicyConfig["default"],
  client: Client,
  start: Route,
): boolean {
  for (const rule of rules) {
    const { config, matcher } = rule;
    if (config.on !== "call" || !matcher.mayMatchServer(start.upstream)) continue;
    if (!matcher.matchesPrincipal(client.principal)) continue;
    const answer = answerWithoutName(rule, client, start);
    if (answer === "no") continue;
    if (config.effect === "hide") {
      const isForAll = answer === "yes" && config.annotations === undefined;
      if (isForAll && matcher.matchesRoute(start, true)) return false;
    } else if (mayName(config, start)) return true;
  }
  return fallback !== "hide" && start.kind !== "methods";
}

/** What conditions see of a target. */
const OF_TARGET = ["args", "tool", "target", "annotations"] as const;

/** What the condition of a rule says of everything that the server has. */
function answerWithoutName({ when, restricts }: Rule, client: Client, route: Route): "yes" | "no" | "maybe" {
  if (when === undefined) return "yes";
  if (OF_TARGET.some((fact) => when.uses.has(fact))) return "maybe";
  const answer = when.evaluate(factsOf({ on: "call", route, client }));
  if (answer === "yes" || answer === "no") return answer;
  return restricts ? "yes" : "no";
}

function mayName(config: MatcherConfig, { kind, exposed }: Route): boolean {
  if (config.annotations !== undefined && kind !== "tools") return false;
  // A rule that names nothing is about the whole server, and is no reason to show it for a method.
  if (!namesKinds(config)) return kind !== "methods";
  switch (kind) {
    case "tools":
    case "prompts":
      return config[kind]?.some((pattern) => canBeginWith(pattern, exposed)) === true;
    case "methods":
      return config.methods !== undefined;
    case "resources":
    case "resourceTemplates":
      return (
        config.resources?.some((pattern) =>
          [exposed, ...KEPT_SCHEMES].some((start) =>
            canBeginWith(pattern.toLowerCase(), start.toLowerCase()),
          ),
        ) === true
      );
  }
}
