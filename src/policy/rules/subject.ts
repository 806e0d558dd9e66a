/** What a rule or a limit is about: which targets, and whose calls. */
import type { SubjectConfig } from "../../config/config.js";
import type { Route } from "../../core/call.js";
import { type Principal, scopesOf } from "../../core/client.js";
import { glob, type NameTest } from "../../core/globs.js";
import type { ListKind } from "../../core/upstream.js";
import { objectAt } from "../../wire/json.js";

export interface Subject {
  /** `eager`: of the several ways in which a URI can be written, one that matches is enough. */
  covers(route: Route, eager: boolean): boolean;
  isAbout(principal: Principal): boolean;
}

/** Compiled once, so that judging a call costs only the matching. */
export function compileSubject(config: SubjectConfig): Subject {
  const names = nameTests(config);
  const isServer = config.servers === undefined ? undefined : anyOf(config.servers);
  const isPrincipal = config.principals === undefined ? undefined : anyOf(config.principals);
  const hints = Object.entries(config.annotations ?? {});
  return {
    covers(route, eager) {
      if (isServer !== undefined && !isServer(route.upstream)) return false;
      if (hints.some(([hint, wanted]) => hintOf(route, hint) !== wanted)) return false;
      if (names === undefined) return true;
      const matches = names[route.kind];
      if (matches === undefined) return false;
      const spellings = spellingsOf(route);
      return eager ? spellings.some(matches) : spellings.every(matches);
    },
    isAbout(principal) {
      if (isPrincipal !== undefined && !isPrincipal(principal.id)) return false;
      if (config.groups !== undefined && !config.groups.some((group) => principal.groups.includes(group))) {
        return false;
      }
      if (config.scopes === undefined) return true;
      const granted = scopesOf(principal);
      return config.scopes.every((scope) => granted.has(scope));
    },
  };
}

/** The name that rules are written against. */
export const judgedName = (route: Route): string => route.whole ?? route.exposed;

const anyOf = (patterns: readonly string[]): NameTest => {
  const tests = patterns.map(glob);
  return (name) => tests.some((matches) => matches(name));
};

/** Undefined where the config names no kind, and so means all of them. */
function nameTests(config: SubjectConfig): Readonly<Partial<Record<ListKind, NameTest>>> | undefined {
  const { tools, prompts, resources } = config;
  if (tools === undefined && prompts === undefined && resources === undefined) return undefined;
  const resource = resources === undefined ? undefined : anyOf(resources);
  return {
    ...(tools !== undefined && { tools: anyOf(tools) }),
    ...(prompts !== undefined && { prompts: anyOf(prompts) }),
    ...(resource !== undefined && { resources: resource, resourceTemplates: resource }),
  };
}

/**
 * A tool has one name, and a name that is not in the list has no route. A URI may be routed by its form alone,
 * and its server may read `%2e%2e/` or `a/../b` as another way to write what a rule is about.
 */
function spellingsOf(route: Route): readonly string[] {
  const name = judgedName(route);
  if (route.kind !== "resources" || route.item !== undefined) return [name];
  return [...new Set([name, resolved(name), decoded(resolved(name)), resolved(decoded(name))])];
}

const resolved = (uri: string): string => (URL.canParse(uri) ? new URL(uri).href : uri);

function decoded(uri: string): string {
  try {
    return decodeURIComponent(uri);
  } catch {
    return uri;
  }
}

/** What a tool that does not say so is taken for (2026-07-28: schema, "ToolAnnotations"). */
const ASSUMED: Readonly<Record<string, boolean>> = {
  readOnlyHint: false,
  destructiveHint: true,
  idempotentHint: false,
  openWorldHint: true,
};

function hintOf({ kind, item }: Route, hint: string): unknown {
  if (kind !== "tools") return undefined;
  const said = objectAt(item, "annotations");
  if (said !== undefined && Object.hasOwn(said, hint)) return said[hint];
  return Object.hasOwn(ASSUMED, hint) ? ASSUMED[hint] : undefined;
}
