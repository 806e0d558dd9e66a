/** What do the keywords about arrays demand: number of elements, their schemas, and that they differ? */
import { atPath, type CheckResult, UNKNOWN, violation } from "./check-result.js";
import type { Keyword } from "./compile.js";
import { fingerprint } from "./scalars.js";

const isList = (value: unknown): value is readonly unknown[] => Array.isArray(value);

const sizes: Keyword = ({ minItems, maxItems, uniqueItems }, compiler) => {
  const least = compiler.count("minItems", minItems);
  const most = compiler.count("maxItems", maxItems);
  const differ = uniqueItems === true;
  if (least === undefined && most === undefined && !differ) return undefined;
  const [tooFew, tooMany] = [
    violation(`must have at least ${least} elements`),
    violation(`must have at most ${most} elements`),
  ];
  const same = violation("must have no two equal elements");
  return (value, run) => {
    if (!isList(value)) return undefined;
    if (least !== undefined && value.length < least) return tooFew;
    if (most !== undefined && value.length > most) return tooMany;
    if (!differ || value.length < 2) return undefined;
    const texts = new Set<string>();
    for (const element of value) texts.add(fingerprint(element, run));
    return texts.size === value.length ? undefined : same;
  };
};

const elements: Keyword = (schema, compiler) => {
  const { prefixItems, items } = schema;
  // Up to 2019-09 the list stands in `items`, and the schema of the rest in `additionalItems`.
  const early = Array.isArray(items);
  const first = compiler.schemas(early ? "items" : "prefixItems", early ? items : prefixItems) ?? [];
  const rest = early ? "additionalItems" : "items";
  const others = Object.hasOwn(schema, rest) ? compiler.schema(schema[rest]) : undefined;
  if (first.length === 0 && others === undefined) return undefined;
  return (value, run, evaluated) => {
    if (!isList(value)) return undefined;
    let whole: CheckResult;
    const checked = others === undefined ? Math.min(first.length, value.length) : value.length;
    for (let i = 0; i < checked; i += 1) {
      const result = atPath(i, (first[i] ?? others)?.(value[i], run));
      evaluated?.add(i);
      if (result !== undefined && result !== UNKNOWN) return result;
      whole ??= result;
    }
    return whole;
  };
};

const contents: Keyword = (schema, compiler) => {
  if (!Object.hasOwn(schema, "contains")) return undefined;
  const check = compiler.schema(schema.contains);
  const least = compiler.count("minContains", schema.minContains) ?? 1;
  const most = compiler.count("maxContains", schema.maxContains);
  const [tooFew, tooMany] = [
    violation(`must have at least ${least} elements of the kind that the schema names`),
    violation(`must have at most ${most} elements of the kind that the schema names`),
  ];
  return (value, run, evaluated) => {
    if (!isList(value)) return undefined;
    let fitting = 0;
    let unknown = 0;
    for (const [i, element] of value.entries()) {
      const result = check(element, run);
      if (result === undefined) fitting += 1;
      else if (result === UNKNOWN) unknown += 1;
      if (result === undefined || result === UNKNOWN) evaluated?.add(i);
    }
    if (fitting + unknown < least) return tooFew;
    if (most !== undefined && fitting > most) return tooMany;
    return fitting < least || (most !== undefined && fitting + unknown > most) ? UNKNOWN : undefined;
  };
};

/** In the order in which violations are reported. */
export const ARRAYS: readonly Keyword[] = [sizes, elements, contents];

/** Needs what all other keywords have evaluated. */
export const unevaluatedItems: Keyword = (schema, compiler) => {
  if (!Object.hasOwn(schema, "unevaluatedItems")) return undefined;
  const check = compiler.schema(schema.unevaluatedItems);
  return (value, run, evaluated) => {
    if (!isList(value)) return undefined;
    let whole: CheckResult;
    for (const [i, element] of value.entries()) {
      run.spend(1);
      if (evaluated?.has(i)) continue;
      const result = atPath(i, check(element, run));
      if (result !== undefined && result !== UNKNOWN) return result;
      whole ??= result;
    }
    evaluated?.addAll();
    return whole;
  };
};
