/** Which rules and limits can never apply? Valid by themselves, and most likely mistakes. */
import type { RuleConfig } from "../../config/config.js";
import { glob } from "../../patterns/globs.js";
import { type AdvisedConfig, deadMatchers } from "./dead-matchers.js";
import { compileExpression } from "./expression.js";
import type { PolicyFault } from "./rule.js";

const KINDS = ["tools", "prompts", "resources", "methods"] as const;

/** Sentences with their paths in the config, for `cardea check`. Empty in case of doubt. */
export function policyAdvice(config: AdvisedConfig): readonly PolicyFault[] {
  const { policy, limits, servers } = config;
  const rules = policy?.rules ?? [];
  const names = servers.map(({ name }) => name);
  const about = [
    ...rules.map((rule, at) => ({ subject: rule, path: ["policy", "rules", at] as const })),
    ...(limits ?? []).map((limit, at) => ({ subject: limit, path: ["limits", at] as const })),
  ];
  const unknownServers = about.flatMap(({ subject, path }) =>
    (subject.servers ?? []).flatMap((pattern, at): PolicyFault[] => {
      const matches = glob(pattern);
      return names.some(matches)
        ? []
        : [{ path: [...path, "servers", at], message: "no server of this config has such a name" }];
    }),
  );
  const shadowed = rules.flatMap((rule, at): PolicyFault[] => {
    const before = rules.slice(0, at).find((earlier) => alwaysDecidesFirst(earlier, rule));
    return before === undefined
      ? []
      : [
          {
            path: ["policy", "rules", at],
            message: `rule "${rule.name}" never decides: "${before.name}" matches all that it matches, and comes first`,
          },
        ];
  });
  const dead = about.flatMap(({ subject, path }) => deadMatchers(subject, path, config));
  const questions = rules.flatMap(({ on, when }, at): readonly PolicyFault[] => {
    if (on !== "call" || when === undefined || !compileExpression(when).uses.has("request")) return [];
    const message = 'a call has no "request": what a server asks is judged by rules with "on"';
    return [{ path: ["policy", "rules", at, "when"], message }];
  });
  return [...unknownServers, ...dead, ...questions, ...shadowed];
}

/** Whether whatever `later` matches, `earlier` matches too. */
function alwaysDecidesFirst(earlier: RuleConfig, later: RuleConfig): boolean {
  if (earlier.on !== later.on) return false;
  if (earlier.when !== undefined && earlier.when !== later.when) return false;
  if (earlier.groups !== undefined || earlier.scopes !== undefined || earlier.annotations !== undefined) {
    return false;
  }
  return (
    covers(earlier.servers, later.servers) &&
    covers(earlier.principals, later.principals) &&
    coversTargets(earlier, later)
  );
}

function coversTargets(earlier: RuleConfig, later: RuleConfig): boolean {
  const named = (rule: RuleConfig): boolean => KINDS.some((kind) => rule[kind] !== undefined);
  if (!named(earlier)) return true;
  if (!named(later)) return false;
  // A kind that the later rule leaves alone need not be covered.
  return KINDS.every((kind) => later[kind] === undefined || covers(earlier[kind] ?? [], later[kind]));
}

/** Whether each glob of `inner` matches only what one of `outer` matches. An absent list matches everything. */
function covers(outer: readonly string[] | undefined, inner: readonly string[] | undefined): boolean {
  if (outer === undefined || outer.includes("*")) return true;
  return inner?.every((narrow) => outer.some((wide) => contains(wide, narrow))) ?? false;
}

/** Sure for equal globs, for names, and for globs that end where the wide one goes on with a star. */
function contains(wide: string, narrow: string): boolean {
  if (wide === narrow) return true;
  if (!/[*?{]/.test(narrow)) return glob(wide)(narrow);
  const [stem = "", ...rest] = wide.split("*");
  return rest.length === 1 && rest[0] === "" && !/[?{]/.test(stem) && narrow.startsWith(stem);
}
