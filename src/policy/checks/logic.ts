/** The keywords that put schemas together: references, and all, any, one or none of several. */
import { isObject } from "../../wire/json.js";
import type { Keyword } from "./compile.js";
import { type Check, type Misfit, misfit, Seen, UNKNOWN, type Verdict } from "./verdict.js";

const reference: Keyword = ({ $ref }, compiler) => ($ref === undefined ? undefined : compiler.refer($ref));

/** Where all of a schema is in one piece, it leads where a plain reference would. */
const dynamicReference: Keyword = ({ $dynamicRef }, compiler) =>
  $dynamicRef === undefined ? undefined : compiler.refer($dynamicRef);

const all: Keyword = ({ allOf }, compiler) => {
  const checks = compiler.schemas("allOf", allOf);
  if (checks === undefined) return undefined;
  return (value, run, seen) => {
    let whole: Verdict;
    for (const check of checks) {
      const verdict = check(value, run, seen);
      if (verdict !== undefined && verdict !== UNKNOWN) return verdict;
      whole ??= verdict;
    }
    return whole;
  };
};

const any: Keyword = ({ anyOf }, compiler) => {
  const checks = compiler.schemas("anyOf", anyOf);
  if (checks === undefined) return undefined;
  return (value, run, seen) => {
    const against: Misfit[] = [];
    let fits = false;
    for (const check of checks) {
      const verdict = check(value, run, seen);
      // Whoever asks what was looked at must hear of every alternative that fits.
      if (verdict === undefined && seen === undefined) return undefined;
      if (verdict === undefined) fits = true;
      else if (verdict !== UNKNOWN) against.push(verdict);
    }
    if (fits) return undefined;
    return against.length < checks.length ? UNKNOWN : noneOf(against);
  };
};

const one: Keyword = ({ oneOf }, compiler) => {
  const checks = compiler.schemas("oneOf", oneOf);
  if (checks === undefined) return undefined;
  const several = misfit("fits more than one of the alternatives, and may fit only one");
  return (value, run, seen) => {
    const against: Misfit[] = [];
    let fitting = 0;
    for (const check of checks) {
      const verdict = check(value, run, seen);
      if (verdict === undefined) fitting += 1;
      else if (verdict !== UNKNOWN) against.push(verdict);
      if (fitting > 1) return several;
    }
    if (fitting + against.length < checks.length) return UNKNOWN;
    return fitting === 1 ? undefined : noneOf(against);
  };
};

/** Few alternatives are told apart, if each can be told in a word; more would be no help to anybody. */
function noneOf(against: readonly Misfit[]): Misfit {
  const plain =
    against.length <= 3 && against.every(({ path, what }) => path === undefined && what.length < 60);
  const told = plain ? ` (${against.map(({ what }) => what).join("; ")})` : "";
  return misfit(`fits none of the ${against.length} alternatives${told}`);
}

const negation: Keyword = (schema, compiler) => {
  if (!Object.hasOwn(schema, "not")) return undefined;
  const check = compiler.schema(schema.not);
  const wrong = misfit("fits what it must not fit");
  return (value, run) => {
    const verdict = check(value, run);
    if (verdict === UNKNOWN) return UNKNOWN;
    return verdict === undefined ? wrong : undefined;
  };
};

const condition: Keyword = (schema, compiler) => {
  if (!Object.hasOwn(schema, "if")) return undefined;
  const optional = (key: "then" | "else"): Check | undefined =>
    Object.hasOwn(schema, key) ? compiler.schema(schema[key]) : undefined;
  const [asks, yes, no] = [apart(compiler.schema(schema.if)), optional("then"), optional("else")];
  return (value, run, seen) => {
    const met = asks(value, run, seen);
    if (met === undefined) return yes?.(value, run, seen);
    if (met !== UNKNOWN) return no?.(value, run, seen);
    return yes?.(value, run, seen) === undefined && no?.(value, run, seen) === undefined
      ? undefined
      : UNKNOWN;
  };
};

const dependents: Keyword = ({ dependentSchemas, dependentRequired, dependencies }, compiler) => {
  const checks: (readonly [string, Check])[] = [];
  for (const given of [dependentSchemas, dependentRequired, dependencies]) {
    if (!isObject(given)) continue;
    for (const [key, needs] of Object.entries(given)) {
      checks.push([key, Array.isArray(needs) ? requires(key, needs) : compiler.schema(needs)]);
    }
  }
  if (checks.length === 0) return undefined;
  return (value, run, seen) => {
    if (!isObject(value)) return undefined;
    let whole: Verdict;
    for (const [key, check] of checks) {
      run.burn(1);
      const verdict = Object.hasOwn(value, key) ? check(value, run, seen) : undefined;
      if (verdict !== undefined && verdict !== UNKNOWN) return verdict;
      whole ??= verdict;
    }
    return whole;
  };
};

function requires(key: string, needs: readonly unknown[]): Check {
  const names = needs.filter((name) => typeof name === "string");
  return (value, run) => {
    run.burn(names.length);
    const missing = isObject(value) ? names.find((name) => !Object.hasOwn(value, name)) : undefined;
    return missing === undefined ? undefined : misfit(`needs a member "${missing}" beside "${key}"`);
  };
}

export const LOGIC: readonly Keyword[] = [
  reference,
  dynamicReference,
  all,
  any,
  one,
  negation,
  condition,
  dependents,
];

/** For a part of a schema whose look counts only if it fits. */
export function apart(check: Check): Check {
  return (value, run, seen) => {
    if (seen === undefined) return check(value, run);
    const own = new Seen();
    const verdict = check(value, run, own);
    if (verdict === undefined || verdict === UNKNOWN) seen.addFrom(own);
    return verdict;
  };
}
