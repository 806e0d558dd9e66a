/** What is a rule about (or a limit): which targets, and whose calls? One rule of the policy, compiled. */

import type { Route } from "../../../core/call.js";
import { type Principal, tokenScopes } from "../../../core/client.js";
import { glob, type NameMatcher, UriGlobs } from "../../../patterns/globs.js";
import { compilePattern } from "../../../patterns/re2.js";
import { objectAt } from "../../../wire/json.js";
import type { MatcherConfig, RuleConfig } from "../config.js";
import { Hits } from "../hits.js";
import { faultsOfApprovers } from "../second-person/approvers.js";
import { ExpressionError } from "./cel.js";
import type { Expression, ExpressionCompiler } from "./expression.js";
import { hasUri, nameForRules, originalNameOf, readingsOfRoute } from "./policy-input.js";

/** A compiled rule. */
export interface Rule {
  readonly config: RuleConfig;
  readonly matcher: Matcher;
  readonly when: Expression | undefined;
  /** Whether it takes something away. In doubt such a rule applies, and one that only allows does not. */
  readonly restricts: boolean;
  readonly hits: Hits;
}

/** What is wrong with one place of `policy` or `limits`, as a plain sentence. */
export interface PolicyFault {
  readonly path: readonly (string | number)[];
  readonly message: string;
}

/** The rule, or everything that is wrong with it; `path` is where it stands in the config. */
export function compileRule(
  config: RuleConfig,
  path: PolicyFault["path"],
  compiler: ExpressionCompiler,
): { readonly rule?: Rule; readonly faults: readonly PolicyFault[] } {
  const faults: PolicyFault[] = [...misplacedKeys(config, path), ...badPatterns(config, path)];
  let when: Expression | undefined;
  try {
    when = config.when === undefined ? undefined : compiler.compile(config.when);
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error;
    faults.push({ path: [...path, "when"], message: error.message });
  }
  // A list has no arguments, so `hide` cannot depend on them.
  for (const fact of ["args", "request"] as const) {
    if (config.effect === "hide" && when?.uses.has(fact)) {
      faults.push({ path: [...path, "when"], message: `a rule that hides cannot look at "${fact}"` });
    }
  }
  if (faults.length > 0) return { faults };
  const restricts = config.effect !== "allow";
  const rule = { config, matcher: compileMatcher(config), when, restricts, hits: new Hits() };
  return { rule, faults };
}

const ONLY_FOR_CALLS: ReadonlySet<string> = new Set(["approve", "hide", "redact"]);

function misplacedKeys(config: RuleConfig, path: PolicyFault["path"]): PolicyFault[] {
  const faults: PolicyFault[] = [];
  const add = (key: string, message: string): void => void faults.push({ path: [...path, key], message });
  if (config.on !== "call" && ONLY_FOR_CALLS.has(config.effect)) {
    add("effect", `"${config.effect}" is for calls; questions of servers can be allowed or denied`);
  }
  if (config.effect === "approve" && config.methods !== undefined) {
    add("methods", `"approve" is for tools, prompts and resources; a method has no person to ask`);
  }
  if (config.annotations !== undefined && config.methods !== undefined) {
    add("annotations", "annotations are of tools; a rule about methods cannot ask for them");
  }
  if (config.effect === "redact" && config.redact === undefined) {
    add("effect", `"redact" needs a key "redact" that says what to take out`);
  }
  if (config.effect !== "redact" && config.redact !== undefined)
    add("redact", 'this key needs the effect "redact"');
  if (config.effect !== "approve" && config.rememberMs !== undefined) {
    add("remember", 'this key needs the effect "approve"');
  }
  for (const fault of faultsOfApprovers(config)) add(...fault);
  if (config.on !== "sampling" && (config.maxTokens !== undefined || config.stripContext !== undefined)) {
    add(config.maxTokens === undefined ? "stripContext" : "maxTokens", 'this key needs "on": "sampling"');
  }
  if (config.on === "call" && config.maxRounds !== undefined) {
    add("maxRounds", 'this key is for rules with "on" (questions of servers)');
  }
  return faults;
}

function badPatterns({ redact }: RuleConfig, path: PolicyFault["path"]): PolicyFault[] {
  if (redact === undefined) return [];
  return (["arguments", "results"] as const).flatMap((where) =>
    redact[where].patterns.flatMap((pattern, at) => {
      try {
        compilePattern(pattern);
        return [];
      } catch (error) {
        if (!(error instanceof SyntaxError)) throw error;
        return [{ path: [...path, "redact", where, "patterns", at], message: error.message }];
      }
    }),
  );
}

/** Which targets and principals a rule or limit is about. */
export interface Matcher {
  /** Whether the URI of a resource matters. */
  readonly namesUris: boolean;
  /** Whether it is about what the route leads to, whatever its name is. */
  matchesIgnoringName(route: Route): boolean;
  /**
   * Whether it is about the route, in the one reading that it stands for.
   * @param restricts whether it takes something away; what allows a URI must allow all of its readings
   */
  matchesRoute(route: Route, restricts: boolean): boolean;
  matchesPrincipal(principal: Principal): boolean;
  /** Whether it may be about something of this server. */
  mayMatchServer(server: string): boolean;
}

/** Compiled once, so that a call costs only the matching. */
export function compileMatcher(config: MatcherConfig): Matcher {
  const { tools, prompts, resources, methods } = config;
  const anyName = !namesKinds(config);
  const isTool = tools === undefined ? undefined : anyOf(tools);
  const isPrompt = prompts === undefined ? undefined : anyOf(prompts);
  const isMethod = methods === undefined ? undefined : anyOf(methods);
  const uris = resources === undefined ? undefined : new UriGlobs(resources);
  const isServer = config.servers === undefined ? undefined : anyOf(config.servers);
  const isPrincipal = config.principals === undefined ? undefined : anyOf(config.principals);
  const hints = Object.entries(config.annotations ?? {});
  const matchesIgnoringName = (route: Route): boolean => {
    if (isServer !== undefined && !isServer(route.upstream)) return false;
    return !hints.some(([hint, wanted]) => hintOf(route, hint) !== wanted);
  };
  return {
    namesUris: uris !== undefined,
    matchesIgnoringName,
    matchesRoute(route, restricts) {
      if (!matchesIgnoringName(route)) return false;
      if (anyName) return true;
      const name = nameForRules(route);
      if (hasUri(route)) return uris !== undefined && coversUri(uris, name, restricts, originalNameOf(route));
      const { kind } = route;
      const matches = kind === "tools" ? isTool : kind === "prompts" ? isPrompt : isMethod;
      if (matches?.(name) === true) return true;
      const written = restricts ? undefined : originalNameOf(route);
      return written !== undefined && (kind === "tools" ? tools : prompts)?.includes(written) === true;
    },
    mayMatchServer: (server) => isServer?.(server) ?? true,
    matchesPrincipal(principal) {
      if (isPrincipal !== undefined && !isPrincipal(principal.id)) return false;
      if (config.groups !== undefined && !config.groups.some((group) => principal.groups.includes(group))) {
        return false;
      }
      if (config.scopes === undefined) return true;
      const granted = tokenScopes(principal);
      return config.scopes.every((scope) => granted.has(scope));
    },
  };
}

/** Whether it restricts the call in one of the readings of its URI. */
export function restrictsAnyReading(matcher: Matcher, route: Route): boolean {
  const readings = matcher.namesUris ? readingsOfRoute(route) : undefined;
  if (readings === undefined) return matcher.matchesRoute(route, true);
  if (!readings.complete) return matcher.matchesIgnoringName(route);
  return [...readings.all, ...readings.alike].some((reading) => matcher.matchesRoute(reading, true));
}

function coversUri(uris: UriGlobs, name: string, restricts: boolean, written: string | undefined): boolean {
  if (restricts) return uris.restricts(name);
  if (written === undefined) return uris.allows(name);
  return uris.has(written) || (uris.allows(written) && uris.allowsReading(name));
}

/** Whether it is about certain kinds of targets alone; it is about all of them where it names none. */
export const namesKinds = ({ tools, prompts, resources, methods }: MatcherConfig): boolean =>
  (tools ?? prompts ?? resources ?? methods) !== undefined;

const anyOf = (patterns: readonly string[]): NameMatcher => {
  const tests = patterns.map(glob);
  return (name) => tests.some((matches) => matches(name));
};

/** The defaults of absent annotations (2026-07-28: schema, "ToolAnnotations"). */
const DEFAULT_HINTS: Readonly<Record<string, boolean>> = {
  readOnlyHint: false,
  destructiveHint: true,
  idempotentHint: false,
  openWorldHint: true,
};

function hintOf({ kind, item }: Route, hint: string): unknown {
  if (kind !== "tools") return undefined;
  const said = objectAt(item, "annotations");
  if (said !== undefined && Object.hasOwn(said, hint)) return said[hint];
  return Object.hasOwn(DEFAULT_HINTS, hint) ? DEFAULT_HINTS[hint] : undefined;
}
