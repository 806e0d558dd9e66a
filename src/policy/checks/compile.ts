/**
 * Somebody else's JSON Schema as a function that says whether a value fits it (2020-12, and what older drafts write
 * otherwise). It is walked and not turned into program text: that takes a third of a millisecond for each part.
 */

import { cooperativeYield } from "../../core/cooperative-yield.js";
import { numberOf } from "../../wire/exact-number.js";
import { isObject, type JsonObject, stringAt } from "../../wire/json.js";
import { ARRAYS, unevaluatedItems } from "./arrays.js";
import { type Check, type CheckResult, EvaluatedKeys, UNKNOWN, violation } from "./check-result.js";
import { isolated, LOGIC } from "./logic.js";
import { OBJECTS, unevaluatedProperties } from "./objects.js";
import { compileUntrusted, type Pattern } from "./pattern.js";
import { SCALARS } from "./scalars.js";
import { isWithinSizeLimits, scanSchema } from "./scan-schema.js";

/** What one keyword, or several that belong together, say of a value; undefined where the schema has none of them. */
export type Keyword = (schema: JsonObject, compiler: Compiler) => Check | undefined;

/** A pattern, from the moment when it is compiled; for ever undefined where it cannot be. */
export interface PatternHolder {
  current: Pattern | undefined;
}

export interface Compiled {
  readonly check: Check;
  /** What of it is not checked, and not held against anybody. */
  readonly warnings: readonly string[];
}

/** More than any tool has a use for; each takes a moment to compile. */
const MAX_PATTERNS = 200;
/** What it costs to put into words that something does not fit. */
const MISMATCH_COST = 4;
/** So many parts are compiled before others get their turn. */
const PARTS_PER_SLICE = 250;

/** The last ones look at what those before them have seen. */
const KEYWORDS: readonly Keyword[] = [
  ...SCALARS,
  ...OBJECTS,
  ...ARRAYS,
  ...LOGIC,
  unevaluatedProperties,
  unevaluatedItems,
];

/**
 * Lets others go first now and then: a large schema, or a pattern, takes a moment. However many schemas are compiled at
 * once, one pattern is compiled in a turn.
 */
export async function compileSchema(schema: unknown): Promise<Compiled> {
  if (!isWithinSizeLimits(schema))
    return { check: undecided, warnings: ["the schema is too large or nested too deeply"] };
  const compiler = new Compiler(schema);
  const check = compiler.schema(schema);
  await compiler.finish();
  return { check, warnings: [...compiler.warnings] };
}

export class Compiler {
  readonly warnings = new Set<string>();
  readonly #root: unknown;
  readonly #checks = new Map<JsonObject, Check>();
  /** Schemas that somebody refers to and that are not compiled yet. */
  readonly #waiting: (() => void)[] = [];
  readonly #patterns = new Map<string, PatternHolder>();
  readonly #anchors: ReadonlyMap<string, JsonObject>;
  /** Whether somebody will ask what was looked at; hardly any schema does. */
  readonly tracksEvaluated: boolean;
  /** Where parts have addresses of their own, references mean other things than they seem to. */
  readonly #hasIds: boolean;
  /** Up to draft 7 nothing beside a reference counts. */
  readonly #refsAlone: boolean;

  constructor(root: unknown) {
    this.#root = root;
    const { anchors, keys, ids } = scanSchema(root);
    this.#anchors = anchors;
    this.tracksEvaluated = keys.has("unevaluatedProperties") || keys.has("unevaluatedItems");
    this.#refsAlone = /draft-0[3-7]/.test(stringAt(isObject(root) ? root : undefined, "$schema") ?? "");
    this.#hasIds = ids;
  }

  /** The check of a schema inside this one. */
  schema(schema: unknown): Check {
    if (schema === false) return rejectAll;
    if (!isObject(schema)) {
      if (schema !== true) this.warnings.add("something that is no schema stands where one should");
      return acceptAll;
    }
    const known = this.#checks.get(schema);
    if (known !== undefined) return known;
    let made: Check = undecided;
    const check: Check = (value, run, evaluated) => made(value, run, evaluated);
    this.#checks.set(schema, check);
    this.#waiting.push(() => {
      made = this.#compile(schema);
    });
    return check;
  }

  /** The checks of a list of schemas; undefined where there is none. */
  schemas(keyword: string, given: unknown): readonly Check[] | undefined {
    if (given === undefined) return undefined;
    if (!Array.isArray(given) || given.length === 0) return this.ignoreKeyword(keyword);
    const checks = given.map((schema) => this.schema(schema));
    return this.tracksEvaluated ? checks.map(isolated) : checks;
  }

  /** The check of what a reference leads to. Nothing is ever fetched. */
  reference(ref: unknown): Check {
    const target = typeof ref === "string" && !this.#hasIds ? this.#target(ref) : undefined;
    if (target === undefined) {
      this.ignoreKeyword("$ref");
      return undecided;
    }
    return this.schema(target.schema);
  }

  /** A pattern, which is compiled later. */
  pattern(keyword: string, source: unknown): PatternHolder {
    const held = this.#patterns.get(String(source));
    if (held !== undefined) return held;
    const holder: PatternHolder = { current: undefined };
    if (typeof source !== "string" || this.#patterns.size >= MAX_PATTERNS) this.ignoreKeyword(keyword);
    else this.#patterns.set(source, holder);
    return holder;
  }

  /** A number of things; undefined where there is none. */
  count(keyword: string, given: unknown): number | undefined {
    if (given === undefined) return undefined;
    const count = numberOf(given);
    return count !== undefined && count >= 0 ? count : this.ignoreKeyword(keyword);
  }

  /** Notes that a keyword makes no sense here, or cannot be followed. */
  ignoreKeyword(keyword: string): undefined {
    this.warnings.add(`a "${keyword}" cannot be followed`);
    return undefined;
  }

  /** Compiles all that was referred to. */
  async finish(): Promise<void> {
    let compiled = 0;
    for (let compile = this.#waiting.pop(); compile !== undefined; compile = this.#waiting.pop()) {
      compile();
      compiled += 1;
      if (compiled % PARTS_PER_SLICE === 0) await cooperativeYield();
    }
    for (const [source, holder] of this.#patterns) {
      await cooperativeYield();
      holder.current = compileUntrusted(source);
      if (holder.current === undefined)
        this.warnings.add(`the pattern ${source.slice(0, 100)} is not one that RE2 takes`);
    }
  }

  #compile(schema: JsonObject): Check {
    const alone = this.#refsAlone && typeof schema.$ref === "string";
    const looked = alone ? { $ref: schema.$ref } : schema;
    const checks = KEYWORDS.flatMap((keyword) => keyword(looked, this) ?? []);
    const [first, ...others] = checks;
    if (first === undefined) return acceptAll;
    const whole = others.length === 0 ? first : inSequence(checks);
    const asksWhatWasSeen =
      Object.hasOwn(schema, "unevaluatedProperties") || Object.hasOwn(schema, "unevaluatedItems");
    return (value, run, evaluated) => {
      run.enter();
      const own = asksWhatWasSeen ? new EvaluatedKeys() : evaluated;
      const result = whole(value, run, own);
      // To say no takes longer than to say yes.
      if (result !== undefined) run.spend(MISMATCH_COST);
      if (own !== evaluated && own !== undefined) evaluated?.addFrom(own);
      run.leave();
      return result;
    };
  }

  #target(ref: string): { readonly schema: unknown } | undefined {
    const id = (stringAt(isObject(this.#root) ? this.#root : undefined, "$id") ?? "").replace(/#$/, "");
    const local = ref.startsWith(`${id}#`) ? ref.slice(id.length) : ref;
    if (!local.startsWith("#")) return undefined;
    const fragment = decoded(local.slice(1));
    if (fragment === "") return { schema: this.#root };
    if (!fragment.startsWith("/")) {
      const schema = this.#anchors.get(fragment);
      return schema && { schema };
    }
    let place: unknown = this.#root;
    for (const step of fragment.slice(1).split("/")) {
      const key = step.replaceAll("~1", "/").replaceAll("~0", "~");
      if ((!isObject(place) && !Array.isArray(place)) || !Object.hasOwn(place, key)) return undefined;
      place = (place as JsonObject)[key];
    }
    return { schema: place };
  }
}

function inSequence(checks: readonly Check[]): Check {
  return (value, run, evaluated) => {
    let whole: CheckResult;
    for (const check of checks) {
      const result = check(value, run, evaluated);
      if (result !== undefined && result !== UNKNOWN) return result;
      whole ??= result;
    }
    return whole;
  };
}

const acceptAll: Check = () => undefined;
const undecided: Check = (_value, _run, evaluated) => {
  // For all we know it looks at everything.
  evaluated?.addAll();
  return UNKNOWN;
};
const NOTHING_FITS = violation("must not be there");
const rejectAll: Check = () => NOTHING_FITS;

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
