/** Which rules and limits can never apply? Valid by themselves, and most likely mistakes. */

import { closest } from "../../../config/closest.js";
import { uriPrefix } from "../../../config/collisions.js";
import type { Config, ServerConfig } from "../../../config/config.js";
import { canBeginWith, exposedStarts, nearestName } from "../../../config/own-names.js";
import { ANONYMOUS } from "../../../core/client.js";
import { METHODS } from "../../../core/methods.js";
import { glob } from "../../../patterns/globs.js";
import { writeJson } from "../../../wire/json-text.js";
import type { MatcherConfig, PolicySettings, RuleConfig } from "../config.js";
import { ExpressionCompiler } from "./expression.js";
import type { PolicyFault } from "./rule.js";

const KINDS = ["tools", "prompts", "resources", "methods"] as const;

/** Sentences with their paths in the config, for `cardea check`. Empty in case of doubt. */
export function policyAdvice(config: AdvisedConfig): readonly PolicyFault[] {
  const { features, servers } = config;
  const { policy, limits } = features;
  const rules = policy?.rules ?? [];
  const names = servers.map(({ name }) => name);
  const about = [
    ...rules.map((rule, at) => ({ subject: rule, path: ["policy", "rules", at] as const })),
    ...(limits ?? []).map((limit, at) => ({ subject: limit, path: ["limits", at] as const })),
  ];
  const unknownServers = about.flatMap(({ subject, path }) =>
    (subject.servers ?? []).flatMap((pattern, at): PolicyFault[] => {
      const matches = glob(pattern);
      if (names.some(matches)) return [];
      const message = `no server of this config has such a name${didYouMean(pattern, names)}`;
      return [{ path: [...path, "servers", at], message }];
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
  const compiler = new ExpressionCompiler();
  const questions = rules.flatMap(({ on, when }, at): readonly PolicyFault[] => {
    if (on !== "call" || when === undefined || !compiler.compile(when).uses.has("request")) return [];
    const message = 'a call has no "request": questions of servers are evaluated by rules with "on"';
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

/** Sure for equal globs, for names, and for globs that end where the wide one continues with a star. */
function contains(wide: string, narrow: string): boolean {
  if (wide === narrow) return true;
  if (!/[*?{]/.test(narrow)) return glob(wide)(narrow);
  const [stem = "", ...rest] = wide.split("*");
  return rest.length === 1 && rest[0] === "" && !/[?{]/.test(stem) && narrow.startsWith(stem);
}

/** What of a config there is to know for it. */
export type AdvisedConfig = Pick<Config, "naming" | "auth"> & {
  readonly features: PolicySettings;
  readonly servers: readonly Pick<ServerConfig, "name" | "prefix">[];
};

/** Empty in case of doubt; `path` is that of the rule or limit in the config. */
const deadMatchers = (
  subject: MatcherConfig,
  path: PolicyFault["path"],
  config: AdvisedConfig,
): readonly PolicyFault[] => [
  ...unmatchedNames(subject, path, config),
  ...unmatchedMethods(subject, path),
  ...unmatchedPrincipals(subject, path, config),
  ...unmatchedGroupsAndScopes(subject, path, config),
  ...unknownAnnotations(subject, path),
];

/** `; did you mean …?` for a word that is nearly one of `known`; empty for a glob. */
function didYouMean(word: string, known: readonly string[]): string {
  const near = /[*?{]/.test(word) ? undefined : closest(word, known);
  return near === undefined ? "" : `; did you mean ${writeJson(near)}?`;
}

/** Principals without a key, where keys are all there is. A host on a pipe may be anonymous beside them. */
function unmatchedPrincipals(
  { principals = [] }: MatcherConfig,
  path: PolicyFault["path"],
  { auth }: AdvisedConfig,
): readonly PolicyFault[] {
  if (auth?.jwt !== undefined) return [];
  const ids = auth?.keys.map(({ id }) => id) ?? [];
  return principals.flatMap((pattern, at): readonly PolicyFault[] => {
    if ([...ids, ANONYMOUS.id].some(glob(pattern))) return [];
    const why =
      auth === undefined
        ? `no host over HTTP comes as this principal: without "auth" all are ${ANONYMOUS.id}`
        : `no key of auth has this principal${didYouMean(pattern, ids)}`;
    return [{ path: [...path, "principals", at], message: why }];
  });
}

/** The annotations of tools (2026-07-28: schema, "ToolAnnotations") that are true or false. */
const HINTS = ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"];

/** A server may have annotations of its own, so only what is nearly a known one is a mistake. */
const unknownAnnotations = (
  { annotations = {} }: MatcherConfig,
  path: PolicyFault["path"],
): readonly PolicyFault[] =>
  Object.keys(annotations).flatMap((name): readonly PolicyFault[] => {
    const near = HINTS.includes(name) ? undefined : closest(name, HINTS);
    if (near === undefined) return [];
    const message = `tools have no annotation of this name; did you mean ${writeJson(near)}?`;
    return [{ path: [...path, "annotations", name], message }];
  });

/** Methods that rules never match: their target is evaluated instead. */
const unmatchedMethods = (
  { methods = [] }: MatcherConfig,
  path: PolicyFault["path"],
): readonly PolicyFault[] =>
  methods.flatMap((pattern, at): readonly PolicyFault[] => {
    const message =
      neverEvaluated(pattern) ??
      (/[^\x21-\x7e]/.test(pattern)
        ? `${writeJson(pattern)} matches no method: names are printable ASCII without spaces`
        : undefined);
    return message === undefined ? [] : [{ path: [...path, "methods", at], message }];
  });

/** Why rules for a method apply to no call; undefined where they do. */
function neverEvaluated(method: string): string | undefined {
  const known = Object.hasOwn(METHODS, method) ? METHODS[method] : undefined;
  switch (known?.answeredBy) {
    case "target": {
      const kind = known.target?.read({ name: "x", uri: "x", ref: { uri: "x" } })?.kind ?? "resources";
      const key = method === "completion/complete" ? "prompts or resources" : kind;
      return `${method} is evaluated by its target: use ${key}`;
    }
    case "catalog":
      return `${method} is answered by the gateway, with what the caller may see: use a rule with effect "hide"`;
    case "task":
      return `${method} belongs to the call that created its task, and is not evaluated again`;
    case "edge":
      return `${method} is answered by the gateway and reaches no server`;
    case "every server":
    case "host":
    case undefined:
      return undefined;
  }
}

function unmatchedNames(
  subject: MatcherConfig,
  path: PolicyFault["path"],
  { servers, naming }: AdvisedConfig,
): readonly PolicyFault[] {
  const tests = subject.servers?.map(glob);
  const meant = servers.filter(({ name }) => tests === undefined || tests.some((matches) => matches(name)));
  const prefixes = meant.map(({ prefix }) => prefix);
  // Servers without a prefix have whatever names they like.
  if (prefixes.length === 0 || prefixes.includes("")) return [];
  const names = exposedStarts(meant, naming);
  const uris = [...prefixes.map((prefix) => `${uriPrefix(prefix)}+`), ...KEPT_SCHEMES];
  const { tools = [], prompts = [], resources = [] } = subject;
  const dead = (kind: string, at: number, message: string) => ({ path: [...path, kind, at], message });
  const deadNames = (kind: string, patterns: readonly string[]) =>
    patterns.flatMap((pattern, at): readonly PolicyFault[] => {
      if (!names.some((start) => canBeginWith(pattern, start))) {
        const near = nearestName(pattern, names, naming.separator);
        const hint = near === undefined ? "" : `; did you mean ${near}?`;
        return [
          dead(kind, at, `${writeJson(pattern)} matches no name: they begin with ${names.join(", ")}${hint}`),
        ];
      }
      return INVALID_NAME_GLOB.test(pattern)
        ? [
            dead(
              kind,
              at,
              `${writeJson(pattern)} matches no name: characters other than A-Z a-z 0-9 _ - become _`,
            ),
          ]
        : [];
    });
  return [
    ...deadNames("tools", tools),
    ...deadNames("prompts", prompts),
    ...resources.flatMap((pattern, at): readonly PolicyFault[] =>
      uris.some((start) => canBeginWith(pattern.toLowerCase(), start))
        ? []
        : [dead("resources", at, `${writeJson(pattern)} matches no URI: they begin with ${uris.join(", ")}`)],
    ),
  ];
}

/** Schemes that URIs keep, whichever server has them. */
export const KEPT_SCHEMES = ["ui:", "skill:", "http:", "https:"];

/** A glob with what stands in no name under a prefix; in braces something else may be named beside it. */
const INVALID_NAME_GLOB = /^[^{]*[^A-Za-z0-9_*?{-][^{]*$/;

/** Groups that no key has and scopes that no token grants, where keys are all there is. */
function unmatchedGroupsAndScopes(
  { groups = [], scopes = [] }: MatcherConfig,
  path: PolicyFault["path"],
  { auth }: AdvisedConfig,
): readonly PolicyFault[] {
  if (auth?.jwt !== undefined) return [];
  const known = new Set(auth?.keys.flatMap((key) => key.groups));
  return [
    ...groups.flatMap((group, at): readonly PolicyFault[] =>
      known.has(group)
        ? []
        : [
            {
              path: [...path, "groups", at],
              message: `no principal is in this group: no key of auth has it${didYouMean(group, [...known])}`,
            },
          ],
    ),
    ...scopes.map((_, at) => ({
      path: [...path, "scopes", at],
      message: "no principal has this scope: scopes come from tokens, and auth.jwt is not configured",
    })),
  ];
}
