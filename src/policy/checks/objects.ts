/** The keywords that are about objects: which members they have, and what those are. */
import { isObject, type JsonObject } from "../../wire/json.js";
import type { Compiler, Keyword, PatternHolder } from "./compile.js";
import { at, type Check, misfit, type Run, type Seen, UNKNOWN, type Verdict } from "./verdict.js";

const required: Keyword = ({ required: given }) => {
  // Draft 3 and OpenAPI put a truth value on the member itself; that says nothing of this object.
  const names = Array.isArray(given) ? given.filter((name) => typeof name === "string") : [];
  if (names.length === 0) return undefined;
  return (value, run) => {
    if (!isObject(value)) return undefined;
    run.burn(names.length);
    const missing = names.find((name) => !Object.hasOwn(value, name));
    return missing === undefined ? undefined : misfit(`needs a member "${missing.slice(0, 100)}"`);
  };
};

const sizes: Keyword = ({ minProperties, maxProperties }, compiler) => {
  const least = compiler.count("minProperties", minProperties);
  const most = compiler.count("maxProperties", maxProperties);
  if (least === undefined && most === undefined) return undefined;
  const [tooFew, tooMany] = [
    misfit(`must have at least ${least} members`),
    misfit(`must have at most ${most} members`),
  ];
  return (value, run) => {
    if (!isObject(value)) return undefined;
    const { length } = Object.keys(value);
    run.burn(length / 8);
    if (least !== undefined && length < least) return tooFew;
    return most !== undefined && length > most ? tooMany : undefined;
  };
};

interface MemberChecks {
  readonly named: ReadonlyMap<string, Check>;
  readonly matching: readonly { readonly pattern: PatternHolder; readonly check: Check }[];
  /** For those that are neither. */
  readonly others: Check | undefined;
}

const members: Keyword = (schema, compiler) => {
  const checks = memberChecks(schema, compiler);
  const { named, matching, others } = checks;
  if (named.size === 0 && matching.length === 0 && others === undefined) return undefined;
  // Mostly there are only names, and then nobody need look at what has others.
  if (matching.length === 0 && others === undefined) {
    return (value, run, seen) => (isObject(value) ? namedMembers(named, value, run, seen) : undefined);
  }
  return (value, run, seen) => (isObject(value) ? allMembers(checks, value, run, seen) : undefined);
};

function memberChecks(schema: JsonObject, compiler: Compiler): MemberChecks {
  const { properties, patternProperties } = schema;
  const { additionalProperties: rest } = schema;
  // Whatever is welcome need not be looked at, unless somebody asks what was.
  const looks = Object.hasOwn(schema, "additionalProperties") && (rest !== true || compiler.isSeen);
  return {
    named: new Map(
      Object.entries(isObject(properties) ? properties : {}).map(([name, inner]) => [
        name,
        compiler.schema(inner),
      ]),
    ),
    matching: Object.entries(isObject(patternProperties) ? patternProperties : {}).map(([source, inner]) => ({
      pattern: compiler.pattern("patternProperties", source),
      check: compiler.schema(inner),
    })),
    others: looks ? compiler.schema(rest) : undefined,
  };
}

function namedMembers(
  named: MemberChecks["named"],
  object: JsonObject,
  run: Run,
  seen: Seen | undefined,
): Verdict {
  let whole: Verdict;
  run.burn(named.size / 4);
  for (const [name, check] of named) {
    if (!Object.hasOwn(object, name)) continue;
    seen?.add(name);
    const verdict = at(name, check(object[name], run));
    if (verdict !== undefined && verdict !== UNKNOWN) return verdict;
    whole ??= verdict;
  }
  return whole;
}

function allMembers(checks: MemberChecks, object: JsonObject, run: Run, seen: Seen | undefined): Verdict {
  let whole: Verdict;
  for (const key of Object.keys(object)) {
    run.burn(1);
    const verdict = at(key, member(checks, key, object[key], run, seen));
    if (verdict !== undefined && verdict !== UNKNOWN) return verdict;
    whole ??= verdict;
  }
  return whole;
}

function member(
  { named, matching, others }: MemberChecks,
  key: string,
  value: unknown,
  run: Run,
  seen?: Seen,
): Verdict {
  let whole: Verdict;
  let known = false;
  let perhapsKnown = false;
  const note = (verdict: Verdict): boolean => {
    if (verdict === UNKNOWN) whole = UNKNOWN;
    return verdict !== undefined && verdict !== UNKNOWN;
  };
  const own = named.get(key);
  if (own !== undefined) {
    known = true;
    const verdict = own(value, run);
    if (note(verdict)) return verdict;
  }
  for (const { pattern, check } of matching) {
    const { current } = pattern;
    if (current === undefined) {
      perhapsKnown = true;
      if (check(value, run) !== undefined) whole = UNKNOWN;
    } else if (current.test(key, run)) {
      known = true;
      const verdict = check(value, run);
      if (note(verdict)) return verdict;
    }
  }
  if (known || perhapsKnown || others !== undefined) seen?.add(key);
  if (known || others === undefined) return whole;
  const verdict = others(value, run);
  if (perhapsKnown) return verdict === undefined ? whole : UNKNOWN;
  return note(verdict) ? verdict : whole;
}

const names: Keyword = (schema, compiler) => {
  if (!Object.hasOwn(schema, "propertyNames")) return undefined;
  const check = compiler.schema(schema.propertyNames);
  return (value, run) => {
    let whole: Verdict;
    for (const key of isObject(value) ? Object.keys(value) : []) {
      const verdict = check(key, run);
      if (verdict !== undefined && verdict !== UNKNOWN)
        return at(key, misfit(`has a name that ${verdict.what}`));
      whole ??= verdict;
    }
    return whole;
  };
};

export const OBJECTS: readonly Keyword[] = [required, sizes, members, names];

/** Comes after all others, which say what they have looked at. */
export const unevaluatedProperties: Keyword = (schema, compiler) => {
  if (!Object.hasOwn(schema, "unevaluatedProperties")) return undefined;
  const check = compiler.schema(schema.unevaluatedProperties);
  return (value, run, seen) => {
    if (!isObject(value)) return undefined;
    let whole: Verdict;
    for (const key of Object.keys(value)) {
      run.burn(1);
      if (seen?.has(key)) continue;
      const verdict = at(key, check(value[key], run));
      if (verdict !== undefined && verdict !== UNKNOWN) return verdict;
      whole ??= verdict;
    }
    seen?.addAll();
    return whole;
  };
};
