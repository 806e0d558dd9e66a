/** What do the keywords about objects demand: which members, how many, and their schemas? */
import { isObject, type JsonObject } from "../../../wire/json.js";
import {
  atPath,
  type Check,
  type CheckResult,
  type CheckRun,
  type EvaluatedKeys,
  UNKNOWN,
  violation,
} from "./check-result.js";
import type { Compiler, Keyword, PatternHolder } from "./compile.js";

const required: Keyword = ({ required: given }) => {
  // In draft 3 and OpenAPI a boolean `required` stands in the member's schema and demands nothing of this object.
  const names = Array.isArray(given) ? given.filter((name) => typeof name === "string") : [];
  if (names.length === 0) return undefined;
  return (value, run) => {
    if (!isObject(value)) return undefined;
    run.spend(names.length);
    const missing = names.find((name) => !Object.hasOwn(value, name));
    return missing === undefined ? undefined : violation(`needs a member "${missing.slice(0, 100)}"`);
  };
};

const sizes: Keyword = ({ minProperties, maxProperties }, compiler) => {
  const least = compiler.count("minProperties", minProperties);
  const most = compiler.count("maxProperties", maxProperties);
  if (least === undefined && most === undefined) return undefined;
  const [tooFew, tooMany] = [
    violation(`must have at least ${least} members`),
    violation(`must have at most ${most} members`),
  ];
  return (value, run) => {
    if (!isObject(value)) return undefined;
    const { length } = Object.keys(value);
    run.spend(length / 8);
    if (least !== undefined && length < least) return tooFew;
    return most !== undefined && length > most ? tooMany : undefined;
  };
};

interface MemberChecks {
  readonly named: ReadonlyMap<string, Check>;
  readonly matching: readonly { readonly pattern: PatternHolder; readonly check: Check }[];
  /** For members that neither names nor patterns cover. */
  readonly additional: Check | undefined;
}

const members: Keyword = (schema, compiler) => {
  const checks = memberChecks(schema, compiler);
  const { named, matching, additional } = checks;
  if (named.size === 0 && matching.length === 0 && additional === undefined) return undefined;
  // The usual schema has only `properties`: other members are not visited.
  if (matching.length === 0 && additional === undefined) {
    return (value, run, evaluated) =>
      isObject(value) ? namedMembers(named, value, run, evaluated) : undefined;
  }
  return (value, run, evaluated) => (isObject(value) ? allMembers(checks, value, run, evaluated) : undefined);
};

function memberChecks(schema: JsonObject, compiler: Compiler): MemberChecks {
  const { properties, patternProperties } = schema;
  const { additionalProperties: rest } = schema;
  // `true` is checked only where an `unevaluated` keyword needs the evaluated keys.
  const isChecked =
    Object.hasOwn(schema, "additionalProperties") && (rest !== true || compiler.tracksEvaluated);
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
    additional: isChecked ? compiler.schema(rest) : undefined,
  };
}

function namedMembers(
  named: MemberChecks["named"],
  object: JsonObject,
  run: CheckRun,
  evaluated: EvaluatedKeys | undefined,
): CheckResult {
  let whole: CheckResult;
  run.spend(named.size / 4);
  for (const [name, check] of named) {
    if (!Object.hasOwn(object, name)) continue;
    evaluated?.add(name);
    const result = atPath(name, check(object[name], run));
    if (result !== undefined && result !== UNKNOWN) return result;
    whole ??= result;
  }
  return whole;
}

function allMembers(
  checks: MemberChecks,
  object: JsonObject,
  run: CheckRun,
  evaluated: EvaluatedKeys | undefined,
): CheckResult {
  let whole: CheckResult;
  for (const key of Object.keys(object)) {
    run.spend(1);
    const result = atPath(key, member(checks, key, object[key], run, evaluated));
    if (result !== undefined && result !== UNKNOWN) return result;
    whole ??= result;
  }
  return whole;
}

function member(
  { named, matching, additional }: MemberChecks,
  key: string,
  value: unknown,
  run: CheckRun,
  evaluated?: EvaluatedKeys,
): CheckResult {
  let whole: CheckResult;
  let known = false;
  let perhapsKnown = false;
  const note = (result: CheckResult): boolean => {
    if (result === UNKNOWN) whole = UNKNOWN;
    return result !== undefined && result !== UNKNOWN;
  };
  const own = named.get(key);
  if (own !== undefined) {
    known = true;
    const result = own(value, run);
    if (note(result)) return result;
  }
  for (const { pattern, check } of matching) {
    const { current } = pattern;
    if (current === undefined) {
      perhapsKnown = true;
      if (check(value, run) !== undefined) whole = UNKNOWN;
    } else if (current.test(key, run)) {
      known = true;
      const result = check(value, run);
      if (note(result)) return result;
    }
  }
  if (known || perhapsKnown || additional !== undefined) evaluated?.add(key);
  if (known || additional === undefined) return whole;
  const result = additional(value, run);
  if (perhapsKnown) return result === undefined ? whole : UNKNOWN;
  return note(result) ? result : whole;
}

const names: Keyword = (schema, compiler) => {
  if (!Object.hasOwn(schema, "propertyNames")) return undefined;
  const check = compiler.schema(schema.propertyNames);
  return (value, run) => {
    let whole: CheckResult;
    for (const key of isObject(value) ? Object.keys(value) : []) {
      const result = check(key, run);
      if (result !== undefined && result !== UNKNOWN)
        return atPath(key, violation(`has a name that ${result.message}`));
      whole ??= result;
    }
    return whole;
  };
};

/** In the order in which violations are reported. */
export const OBJECTS: readonly Keyword[] = [required, sizes, members, names];

/** Needs what all other keywords have evaluated. */
export const unevaluatedProperties: Keyword = (schema, compiler) => {
  if (!Object.hasOwn(schema, "unevaluatedProperties")) return undefined;
  const check = compiler.schema(schema.unevaluatedProperties);
  return (value, run, evaluated) => {
    if (!isObject(value)) return undefined;
    let whole: CheckResult;
    for (const key of Object.keys(value)) {
      run.spend(1);
      if (evaluated?.has(key)) continue;
      const result = atPath(key, check(value[key], run));
      if (result !== undefined && result !== UNKNOWN) return result;
      whole ??= result;
    }
    evaluated?.addAll();
    return whole;
  };
};
