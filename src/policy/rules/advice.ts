/** Rules that will never have a say: right by themselves, and most likely not what was meant. */
import type { Config, RuleConfig, ServerConfig, SubjectConfig } from "../../config/config.js";
import { glob } from "../../core/globs.js";
import type { PolicyFault } from "./rule.js";

const KINDS = ["tools", "prompts", "resources"] as const;

/** What of a config there is to know for it. */
export type Advised = Pick<Config, "policy" | "limits" | "naming" | "auth"> & {
  readonly servers: readonly Pick<ServerConfig, "name" | "prefix">[];
};

/** Sentences with their places in the config, for `cardea check`. Says nothing where it cannot be sure. */
export function policyAdvice(config: Advised): readonly PolicyFault[] {
  const { policy, limits, servers } = config;
  const rules = policy?.rules ?? [];
  const names = servers.map(({ name }) => name);
  const about = [
    ...rules.map((rule, at) => ({ subject: rule, path: ["policy", "rules", at] as const })),
    ...(limits ?? []).map((limit, at) => ({ subject: limit, path: ["limits", at] as const })),
  ];
  const strangers = about.flatMap(({ subject, path }) =>
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
  const dead = about.flatMap(({ subject, path }) => [
    ...namesOfNobody(subject, path, config),
    ...nobody(subject, path, config),
  ]);
  return [...strangers, ...dead, ...shadowed];
}

/** Globs that begin as no name of the servers in question can. */
function namesOfNobody(
  subject: SubjectConfig,
  path: PolicyFault["path"],
  { servers, naming }: Advised,
): readonly PolicyFault[] {
  const tests = subject.servers?.map(glob);
  const possible = servers.filter(
    ({ name }) => tests === undefined || tests.some((matches) => matches(name)),
  );
  // Longer prefixes are cut; and of servers that are not there something else was said.
  const starts = possible.map(({ prefix }) => namesStart(prefix, naming).slice(0, naming.maxLength - 9));
  if (starts.length === 0) return [];
  return (["tools", "prompts"] as const).flatMap((kind) =>
    (subject[kind] ?? []).flatMap((pattern, at): readonly PolicyFault[] =>
      starts.some((start) => canBeginWith(pattern, start))
        ? []
        : [{ path: [...path, kind, at], message: `it matches no name that there can be: they begin with ${starts.join(", ")}` }],
    ),
  );
}

/** As the catalog writes it before the names of a server with this prefix. */
const namesStart = (prefix: string, { separator }: Config["naming"]): string =>
  prefix === "" ? "" : (prefix + separator).replace(/[^A-Za-z0-9_-]/gu, "_");

function canBeginWith(pattern: string, start: string): boolean {
  const wild = pattern.search(/[*?{]/);
  const stem = wild === -1 ? pattern : pattern.slice(0, wild);
  return stem.startsWith(start) || (wild !== -1 && start.startsWith(stem));
}

/** Groups that no key has and scopes that no token grants, where keys are all there is. */
function nobody(
  { groups = [], scopes = [] }: SubjectConfig,
  path: PolicyFault["path"],
  { auth }: Advised,
): readonly PolicyFault[] {
  if (auth?.jwt !== undefined) return [];
  const known = new Set(auth?.keys.flatMap((key) => key.groups));
  return [
    ...groups.flatMap((group, at): readonly PolicyFault[] =>
      known.has(group)
        ? []
        : [{ path: [...path, "groups", at], message: "nobody is in this group: no key of auth has it" }],
    ),
    ...scopes.map((_, at) => ({
      path: [...path, "scopes", at],
      message: "nobody has this scope: scopes are of tokens, and auth takes none",
    })),
  ];
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
