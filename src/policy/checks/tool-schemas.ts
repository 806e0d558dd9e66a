/** The schemas of tools, each compiled when the first call needs it. */
import type { Route } from "../../core/call.js";
import type { Logger } from "../../core/logger.js";
import { isObject, type JsonObject } from "../../wire/json.js";
import { CheckRun, UNKNOWN, type Violation } from "./check-result.js";
import { type Compiled, compileSchema } from "./compile.js";
import { CooperativeYield } from "./cooperative-yield.js";

export type SchemaOf = "inputSchema" | "outputSchema";

export class ToolSchemas {
  readonly #logger: Logger;
  readonly #cooperativeYield = new CooperativeYield();
  /** List entries never change, and equal ones are one object: a tool is compiled again when it has changed. */
  readonly #compiled = new WeakMap<JsonObject, Compiled | Promise<Compiled>>();

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /**
   * Why `value` does not fit the schema that the tool has for it; undefined where it does, or there is none.
   *
   * @throws TooMuch where there is more to look at than is looked at.
   */
  async validate(route: Route, of: SchemaOf, value: unknown): Promise<Violation | undefined> {
    const schema = route.item?.[of];
    if (!isObject(schema)) return undefined;
    const { check } = await this.#compiledOf(schema, route, of);
    // Asked for without waiting where there is nothing to wait for: who waits lets the others begin too.
    const slice = this.#cooperativeYield.wait();
    if (slice !== undefined) await slice;
    const run = new CheckRun();
    try {
      const result = check(value, run);
      return result === UNKNOWN ? undefined : result;
    } finally {
      this.#cooperativeYield.spend(run.spent);
    }
  }

  #compiledOf(schema: JsonObject, route: Route, of: SchemaOf): Compiled | Promise<Compiled> {
    const known = this.#compiled.get(schema);
    if (known !== undefined) return known;
    const compiling = this.#cooperativeYield
      .run(() => compileSchema(schema))
      .then((compiled) => {
        this.#compiled.set(schema, compiled);
        if (compiled.warnings.length > 0) this.#warn(route, of, compiled.warnings);
        return compiled;
      });
    this.#compiled.set(schema, compiling);
    return compiling;
  }

  #warn({ upstream, target }: Route, of: SchemaOf, unchecked: readonly string[]): void {
    this.#logger.warn(
      { server: upstream, tool: target, schema: of, unchecked },
      "not all of a tool's schema can be checked; what cannot be is held against nobody",
    );
  }
}
