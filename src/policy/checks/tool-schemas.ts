/** Does a value fit the schema that its tool advertises? Each schema is compiled when the first call needs it. */
import type { Route } from "../../core/call.js";
import type { Logger } from "../../core/logger.js";
import { isObject, type JsonObject } from "../../wire/json.js";
import { type CompiledSchema, compile, type Validation } from "../json-schema/compile.js";

type SchemaMember = "inputSchema" | "outputSchema";

/** Why a value is refused: it does not fit its schema, or is too large to be checked. */
export interface Mismatch extends Validation {
  readonly outcome: "invalid" | "too_large";
}

/** The compiled schemas of all tools. */
export class ToolSchemas {
  readonly #logger: Logger;
  readonly #slices = new WorkSlices();
  /** By list entry, which never changes, and is one object where equal: a changed tool is compiled again. */
  readonly #compiled = new WeakMap<JsonObject, CompiledSchema | Promise<CompiledSchema>>();

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** Undefined where the value fits, the tool has no such schema, or the schema cannot decide. */
  async validate(route: Route, member: SchemaMember, value: unknown): Promise<Mismatch | undefined> {
    const schema = route.item?.[member];
    if (!isObject(schema)) return undefined;
    const compiled = await this.#compiledOf(schema, route, member);
    // Awaited only where there is something to wait for: an `await` lets other checks begin in the same turn.
    const slice = this.#slices.wait();
    if (slice !== undefined) await slice;
    const validation = compiled.validate(value);
    this.#slices.spend(validation.work);
    return isMismatch(validation) ? validation : undefined;
  }

  #compiledOf(
    schema: JsonObject,
    route: Route,
    member: SchemaMember,
  ): CompiledSchema | Promise<CompiledSchema> {
    const known = this.#compiled.get(schema);
    if (known !== undefined) return known;
    const compiling = this.#slices
      .run(() => compile(schema))
      .then((compiled) => {
        this.#compiled.set(schema, compiled);
        if (compiled.warnings.length > 0) this.#warn(route, member, compiled.warnings);
        return compiled;
      });
    this.#compiled.set(schema, compiling);
    return compiling;
  }

  #warn({ upstream, target }: Route, member: SchemaMember, unchecked: readonly string[]): void {
    this.#logger.warn(
      { server: upstream, tool: target, schema: member, unchecked },
      "parts of a tool's JSON Schema are not supported; values are not checked against them",
    );
  }
}

const isMismatch = (validation: Validation): validation is Mismatch =>
  validation.outcome === "invalid" || validation.outcome === "too_large";

/** Work units in one turn of the event loop (about 4 ms); more waits for a later turn. */
const WORK_PER_SLICE = 50_000;

/** Spreads checks that arrive together over turns of the event loop. */
class WorkSlices {
  #spent = 0;
  #queue: Promise<void> | undefined;

  /** Undefined where a check may begin at once; else what it waits for, one check in each turn. */
  wait(): Promise<void> | undefined {
    if (this.#spent < WORK_PER_SLICE && this.#queue === undefined) return undefined;
    const slice = (this.#queue ?? Promise.resolve()).then(yieldToEventLoop).then(() => {
      if (this.#queue === slice) this.#queue = undefined;
    });
    this.#queue = slice;
    return slice;
  }

  /** Begins work that may take most of a turn. */
  async run<T>(begin: () => Promise<T>): Promise<T> {
    const slice = this.wait();
    if (slice !== undefined) await slice;
    this.spend(WORK_PER_SLICE);
    return begin();
  }

  /** Counts work units done in this turn. */
  spend(work: number): void {
    if (this.#spent === 0) {
      setImmediate(() => {
        this.#spent = 0;
      });
    }
    this.#spent += work;
  }
}

const yieldToEventLoop = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));
