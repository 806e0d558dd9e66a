/**
 * Which values fit a JSON Schema written by a server? (JSON Schema 2020-12, and what drafts 3 to 2019-09 write otherwise.)
 * The schema is walked and not turned into program text, which would take 0.3 ms for each subschema.
 */

import { cooperativeYield } from "../../../runtime/cooperative-yield.js";
import { isObject, type JsonObject, numberOf, stringAt } from "../../../wire/json.js";
import { ARRAYS, unevaluatedItems } from "./arrays.js";
import {
  type Check,
  CheckLimitError,
  CheckRun,
  describeViolation,
  EvaluatedKeys,
  inSequence,
  UNKNOWN,
  violation,
} from "./check-result.js";
import { isolated, LOGIC } from "./logic.js";
import { OBJECTS, unevaluatedProperties } from "./objects.js";
import { compileUntrusted, type Pattern } from "./pattern.js";
import { SCALARS } from "./scalars.js";

/** A schema that is ready to validate values. */
export interface CompiledSchema {
  /** The parts of the schema that are not checked, and never make a value invalid. */
  readonly warnings: readonly string[];
  /** Validates in one turn of the event loop, within about 20 ms. Never throws. */
  validate(value: unknown): Validation;
}

/** What validating one value has found. */
export interface Validation {
  /** `undecided`: the schema uses what is not checked. `too_large`: the limit of work or depth was reached. */
  readonly outcome: "valid" | "undecided" | "invalid" | "too_large";
  /** Path and violated keyword (`filter.names[2] must be string`), or the limit that was reached; else empty. */
  readonly reason: string;
  /** Work units done: about 10 a microsecond. */
  readonly work: number;
}

/**
 * Compiles a schema. Yields to the event loop between slices of a large schema and between patterns; of all
 * schemas that are compiled at once, one pattern is compiled in a turn.
 *
 * @example (await compile({ type: "string" })).validate(1).reason // "must be string"
 */
export async function compile(schema: unknown): Promise<CompiledSchema> {
  if (!isWithinSizeLimits(schema))
    return compiled(undecided, ["the schema is too large or nested too deeply"]);
  const compiler = new Compiler(schema);
  const check = compiler.schema(schema);
  await compiler.finish();
  return compiled(check, [...compiler.warnings]);
}

const compiled = (check: typeof undecided, warnings: readonly string[]): CompiledSchema => ({
  warnings,
  validate(value) {
    const run = new CheckRun();
    try {
      const result = check(value, run);
      if (result === undefined) return { outcome: "valid", reason: "", work: run.spent };
      if (result === UNKNOWN) return { outcome: "undecided", reason: "", work: run.spent };
      return { outcome: "invalid", reason: describeViolation(result), work: run.spent };
    } catch (error) {
      if (!(error instanceof CheckLimitError)) throw error;
      return { outcome: "too_large", reason: error.message, work: run.spent };
    }
  },
});

/** Compiles one keyword, or several that belong together; undefined where the schema has none of them. */
export type Keyword = (schema: JsonObject, compiler: Compiler) => Check | undefined;

/** A pattern, once it is compiled; stays undefined where it cannot be. */
export interface PatternHolder {
  current: Pattern | undefined;
}

/** More than any tool has a use for; each takes up to 1 ms to compile. */
const MAX_PATTERNS = 200;
/** Work units for describing a mismatch. */
const MISMATCH_COST = 4;
/** Subschemas compiled between two yields to the event loop. */
const SUBSCHEMAS_PER_SLICE = 250;

/** The `unevaluated` keywords come last: they depend on what the others have evaluated. */
const KEYWORDS: readonly Keyword[] = [
  ...SCALARS,
  ...OBJECTS,
  ...ARRAYS,
  ...LOGIC,
  unevaluatedProperties,
  unevaluatedItems,
];

/** Compiles the subschemas of one schema; `finish` completes them. */
export class Compiler {
  /** What is not checked, in words. */
  readonly warnings = new Set<string>();
  readonly #root: unknown;
  readonly #checks = new Map<JsonObject, Check>();
  /** Compiles subschemas that are referenced and not compiled yet; a queue, because schemas may be recursive. */
  readonly #pending: (() => void)[] = [];
  readonly #patterns = new Map<string, PatternHolder>();
  readonly #anchors: ReadonlyMap<string, JsonObject>;
  /** Whether an `unevaluated` keyword needs the evaluated members; hardly any schema has one. */
  readonly tracksEvaluated: boolean;
  /** Subschemas with an `$id` change what references resolve to; then no reference is followed. */
  readonly #hasIds: boolean;
  /** Up to draft 7, keywords beside `$ref` are ignored. */
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
      if (schema !== true) this.warnings.add("not a schema");
      return acceptAll;
    }
    const known = this.#checks.get(schema);
    if (known !== undefined) return known;
    let made: Check = undecided;
    const check: Check = (value, run, evaluated) => made(value, run, evaluated);
    this.#checks.set(schema, check);
    this.#pending.push(() => {
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

  /** The check of the schema that a reference resolves to within this one. Nothing is ever fetched. */
  reference(ref: unknown): Check {
    const target = typeof ref === "string" && !this.#hasIds ? this.#target(ref) : undefined;
    if (target === undefined) {
      this.ignoreKeyword("$ref");
      return undecided;
    }
    return this.schema(target.schema);
  }

  /** A pattern, which `finish` compiles. */
  pattern(keyword: string, source: unknown): PatternHolder {
    const held = this.#patterns.get(String(source));
    if (held !== undefined) return held;
    const holder: PatternHolder = { current: undefined };
    if (typeof source !== "string" || this.#patterns.size >= MAX_PATTERNS) this.ignoreKeyword(keyword);
    else this.#patterns.set(source, holder);
    return holder;
  }

  /** A limit such as `maxItems`; undefined where there is none. */
  count(keyword: string, given: unknown): number | undefined {
    if (given === undefined) return undefined;
    const count = numberOf(given);
    return count !== undefined && count >= 0 ? count : this.ignoreKeyword(keyword);
  }

  /** Warns that a keyword is malformed or not supported. */
  ignoreKeyword(keyword: string): undefined {
    this.warnings.add(`a "${keyword}" cannot be followed`);
    return undefined;
  }

  /** Compiles all pending subschemas, then the patterns; yields to the event loop in between. */
  async finish(): Promise<void> {
    let compiled = 0;
    for (let compile = this.#pending.pop(); compile !== undefined; compile = this.#pending.pop()) {
      compile();
      compiled += 1;
      if (compiled % SUBSCHEMAS_PER_SLICE === 0) await cooperativeYield();
    }
    for (const [source, holder] of this.#patterns) {
      await cooperativeYield();
      holder.current = compileUntrusted(source);
      if (holder.current === undefined)
        this.warnings.add(`the pattern ${source.slice(0, 100)} is not supported by RE2`);
    }
  }

  #compile(schema: JsonObject): Check {
    const alone = this.#refsAlone && typeof schema.$ref === "string";
    const effective = alone ? { $ref: schema.$ref } : schema;
    const checks = KEYWORDS.flatMap((keyword) => keyword(effective, this) ?? []);
    const [first, ...others] = checks;
    if (first === undefined) return acceptAll;
    const whole = others.length === 0 ? first : inSequence(checks);
    const needsEvaluated =
      Object.hasOwn(schema, "unevaluatedProperties") || Object.hasOwn(schema, "unevaluatedItems");
    return (value, run, evaluated) => {
      run.enter();
      const own = needsEvaluated ? new EvaluatedKeys() : evaluated;
      const result = whole(value, run, own);
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
    let target: unknown = this.#root;
    for (const step of fragment.slice(1).split("/")) {
      const key = step.replaceAll("~1", "/").replaceAll("~0", "~");
      if ((!isObject(target) && !Array.isArray(target)) || !Object.hasOwn(target, key)) return undefined;
      target = (target as JsonObject)[key];
    }
    return { schema: target };
  }
}

const acceptAll: Check = () => undefined;
/** The check of what is not supported: it may evaluate any member. */
const undecided: Check = (_value, _run, evaluated) => {
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

/** Nodes; more than any schema that a model could read. */
const MAX_NODES = 20_000;
const MAX_CHARACTERS = 1_000_000;
const MAX_DEPTH = 128;

/** The anchors of a schema, every key in it, and whether subschemas have an `$id`. */
function scanSchema(root: unknown) {
  const anchors = new Map<string, JsonObject>();
  const keys = new Set<string>();
  let ids = false;
  const pending: unknown[] = [root];
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    if (Array.isArray(node)) pending.push(...(node as readonly unknown[]).filter(isContainer));
    if (!isObject(node)) continue;
    const anchor = stringAt(node, "$anchor") ?? stringAt(node, "$dynamicAnchor");
    if (anchor !== undefined && !anchors.has(anchor)) anchors.set(anchor, node);
    ids ||= node !== root && typeof node.$id === "string";
    for (const [key, inner] of Object.entries(node)) {
      keys.add(key);
      if (isContainer(inner)) pending.push(inner);
    }
  }
  return { anchors, keys, ids };
}

const isContainer = (value: unknown): boolean => isObject(value) || Array.isArray(value);

/** Whether the schema has at most `MAX_NODES`, `MAX_CHARACTERS` and `MAX_DEPTH`; stops at the first excess. */
function isWithinSizeLimits(root: unknown): boolean {
  let nodes = 0;
  let characters = 0;
  const pending: { readonly value: unknown; readonly depth: number }[] = [{ value: root, depth: 0 }];
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    const { value, depth } = node;
    nodes += 1;
    if (typeof value === "string") characters += value.length;
    if (nodes > MAX_NODES || characters > MAX_CHARACTERS || depth > MAX_DEPTH) return false;
    if (!isContainer(value)) continue;
    const object = value as JsonObject;
    const keys = Object.keys(object);
    if (nodes + pending.length + keys.length > MAX_NODES) return false;
    for (const key of keys) {
      characters += key.length;
      pending.push({ value: object[key], depth: depth + 1 });
    }
  }
  return true;
}
