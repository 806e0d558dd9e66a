/** How do keywords combine schemas: references, all, any, one or none of several, and conditions? */
import { isObject } from "../../../wire/json.js";
import {
  type Check,
  type CheckResult,
  EvaluatedKeys,
  inSequence,
  UNKNOWN,
  type Violation,
  violation,
} from "./check-result.js";
import type { Keyword } from "./compile.js";

const reference: Keyword = ({ $ref }, compiler) =>
  $ref === undefined ? undefined : compiler.reference($ref);

/** Within a single schema resource it resolves as a plain reference does. */
const dynamicReference: Keyword = ({ $dynamicRef }, compiler) =>
  $dynamicRef === undefined ? undefined : compiler.reference($dynamicRef);

const all: Keyword = ({ allOf }, compiler) => {
  const checks = compiler.schemas("allOf", allOf);
  return checks && inSequence(checks);
};

const any: Keyword = ({ anyOf }, compiler) => {
  const checks = compiler.schemas("anyOf", anyOf);
  if (checks === undefined) return undefined;
  return (value, run, evaluated) => {
    const against: Violation[] = [];
    let fits = false;
    for (const check of checks) {
      const result = check(value, run, evaluated);
      // Evaluated keys come from every alternative that fits, so none may be skipped.
      if (result === undefined && evaluated === undefined) return undefined;
      if (result === undefined) fits = true;
      else if (result !== UNKNOWN) against.push(result);
    }
    if (fits) return undefined;
    return against.length < checks.length ? UNKNOWN : noneOf(against);
  };
};

const one: Keyword = ({ oneOf }, compiler) => {
  const checks = compiler.schemas("oneOf", oneOf);
  if (checks === undefined) return undefined;
  const several = violation("fits more than one of the alternatives, and may fit only one");
  return (value, run, evaluated) => {
    const against: Violation[] = [];
    let fitting = 0;
    for (const check of checks) {
      const result = check(value, run, evaluated);
      if (result === undefined) fitting += 1;
      else if (result !== UNKNOWN) against.push(result);
      if (fitting > 1) return several;
    }
    if (fitting + against.length < checks.length) return UNKNOWN;
    return fitting === 1 ? undefined : noneOf(against);
  };
};

/** Up to three alternatives are described, and only where each is short and concerns the value itself. */
function noneOf(against: readonly Violation[]): Violation {
  const plain =
    against.length <= 3 && against.every(({ path, message }) => path === undefined && message.length < 60);
  const reasons = plain ? ` (${against.map(({ message }) => message).join("; ")})` : "";
  return violation(`fits none of the ${against.length} alternatives${reasons}`);
}

const negation: Keyword = (schema, compiler) => {
  if (!Object.hasOwn(schema, "not")) return undefined;
  const check = compiler.schema(schema.not);
  const wrong = violation("fits what it must not fit");
  return (value, run) => {
    const result = check(value, run);
    if (result === UNKNOWN) return UNKNOWN;
    return result === undefined ? wrong : undefined;
  };
};

const condition: Keyword = (schema, compiler) => {
  if (!Object.hasOwn(schema, "if")) return undefined;
  const optional = (key: "then" | "else"): Check | undefined =>
    Object.hasOwn(schema, key) ? compiler.schema(schema[key]) : undefined;
  const [test, yes, no] = [isolated(compiler.schema(schema.if)), optional("then"), optional("else")];
  return (value, run, evaluated) => {
    const met = test(value, run, evaluated);
    if (met === undefined) return yes?.(value, run, evaluated);
    if (met !== UNKNOWN) return no?.(value, run, evaluated);
    return yes?.(value, run, evaluated) === undefined && no?.(value, run, evaluated) === undefined
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
  return (value, run, evaluated) => {
    if (!isObject(value)) return undefined;
    let whole: CheckResult;
    for (const [key, check] of checks) {
      run.spend(1);
      const result = Object.hasOwn(value, key) ? check(value, run, evaluated) : undefined;
      if (result !== undefined && result !== UNKNOWN) return result;
      whole ??= result;
    }
    return whole;
  };
};

function requires(key: string, needs: readonly unknown[]): Check {
  const names = needs.filter((name) => typeof name === "string");
  return (value, run) => {
    run.spend(names.length);
    const missing = isObject(value) ? names.find((name) => !Object.hasOwn(value, name)) : undefined;
    return missing === undefined ? undefined : violation(`needs a member "${missing}" beside "${key}"`);
  };
}

/** In the order in which violations are reported. */
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

/** Discards the evaluated keys of a check that fails. */
export function isolated(check: Check): Check {
  return (value, run, evaluated) => {
    if (evaluated === undefined) return check(value, run);
    const own = new EvaluatedKeys();
    const result = check(value, run, own);
    if (result === undefined || result === UNKNOWN) evaluated.addFrom(own);
    return result;
  };
}
