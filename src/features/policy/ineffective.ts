/** Which rules and limits match nothing that the servers list? */
import type { Advised, ExposedNames } from "../../cli/feature.js";
import type { Config } from "../../config/config.js";
import { glob } from "../../patterns/globs.js";
import type { MatcherConfig } from "./config.js";
import { compileMatcher } from "./rules/rule.js";

/** Sentences with their paths in the config, for `cardea doctor`. */
export function ineffectiveRules({ features, servers }: Config, names: ExposedNames): readonly Advised[] {
  const keys = servers.map(({ name }) => name);
  return [
    ...(features.policy?.rules ?? []).flatMap((rule, at) =>
      deadMatcher(rule, ["policy", "rules", at], `rule "${rule.name}"`, keys, names),
    ),
    ...(features.limits ?? []).flatMap((limit, at) =>
      deadMatcher(limit, ["limits", at], `limit "${limit.name}"`, keys, names),
    ),
  ];
}

/** The kinds whose lists are complete; resources can be read without being listed. */
const NAMED_KINDS = ["tools", "prompts"] as const;

/** Even if each of its globs matches something, the whole may match nothing. */
function deadMatcher(
  subject: MatcherConfig,
  path: Advised["path"],
  label: string,
  servers: readonly string[],
  names: ExposedNames,
): readonly Advised[] {
  const tests = subject.servers?.map(glob);
  const meant = servers.filter((name) => tests === undefined || tests.some((matches) => matches(name)));
  const dead = NAMED_KINDS.flatMap((kind) =>
    (subject[kind] ?? []).flatMap((pattern, at): readonly Advised[] => {
      const message = names.deadName(pattern, kind, meant);
      return message === undefined ? [] : [{ path: [...path, kind, at], message }];
    }),
  );
  const namesOnly = subject.resources === undefined && subject.methods === undefined;
  const hasNames = subject.tools !== undefined || subject.prompts !== undefined;
  const all = meant.every((name) => names.isRead(name));
  if (dead.length > 0 || !namesOnly || !hasNames || !all) return dead;
  const matcher = compileMatcher(subject);
  if (names.routes.some((route) => matcher.matchesRoute(route, true))) return [];
  return [
    {
      path,
      message: `${label} matches nothing: no tool and no prompt that it names has all else that it asks for`,
    },
  ];
}
