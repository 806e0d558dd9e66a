/** Do the arguments and the result of a tool call fit the tool's schemas and the size limits? */
import type { Call, Middleware, Route } from "../../core/call.js";
import { GatewayError } from "../../core/errors.js";
import type { Logger } from "../../core/logger.js";
import { isObject, type JsonObject, objectAt } from "../../wire/json.js";
import { writeJson } from "../../wire/json-text.js";
import type { Payload } from "../../wire/payload.js";
import { type CompiledSchema, compile, type Validation } from "./json-schema/compile.js";
import type { ChecksConfig } from "./section.js";

/**
 * Refuses a call whose arguments the server would refuse (`bad_request`) or that are too large (`too_large`). Stands
 * below `configuredArguments`, to check what the server would get, and above `access`: no person approves a call that
 * cannot be made.
 *
 * @param checks by server name
 */
export function checkedArguments(
  checks: ReadonlyMap<string, ChecksConfig>,
  schemas: Pick<ToolSchemas, "validate">,
): Middleware {
  return (next) =>
    async function checkedArguments(call) {
      const { route } = call;
      const check = route && call.method === "tools/call" ? checks.get(route.upstream) : undefined;
      if (route === undefined || check === undefined) return next(call);
      const args = argumentsOf(call);
      const { maxArgumentBytes: most } = check;
      if (most !== undefined && Buffer.byteLength(writeJson(args)) > most) {
        throw argumentsError("too_large", route, `may have at most ${most} bytes`);
      }
      if (check.arguments) await validate(route, args);
      return next(call);
    };

  async function validate(route: Route, args: unknown): Promise<void> {
    const mismatch = await schemas.validate(route, "inputSchema", args);
    if (mismatch?.outcome === "too_large")
      throw argumentsError("too_large", route, "are too large to be checked");
    if (mismatch !== undefined)
      throw argumentsError("bad_request", route, `violate its input schema: ${mismatch.reason}`);
  }
}

/** Absent arguments are an empty object; anything but an object is invalid. */
const argumentsOf = ({ params }: Call): unknown =>
  Object.hasOwn(params, "arguments") ? params.arguments : {};

const argumentsError = (
  code: "bad_request" | "too_large",
  { exposed, upstream: server }: Route,
  why: string,
): GatewayError => new GatewayError(code, "downstream", `the arguments of "${exposed}" ${why}`, { server });

/** The checks of one server's results. */
interface ResultChecks {
  readonly server: string;
  readonly checks: ChecksConfig;
  readonly schemas: Pick<ToolSchemas, "validate">;
}

/**
 * Withholds results that do not pass (`denied`). Stands outermost in the server's stack, to check what the server
 * itself has sent.
 */
export function checkedResults({ server, checks, schemas }: ResultChecks): Middleware {
  const { maxResultBytes: most, results } = checks;
  return (next) =>
    async function checkedResults(call) {
      const reply = await next(call);
      if (reply.kind !== "result") return reply;
      const withheld = (why: string): GatewayError =>
        new GatewayError("denied", "upstream", `${executedNote(call)} ${why}, and is withheld`, { server });
      if (most !== undefined && sizeOf(reply.result) > most) throw withheld(`is larger than ${most} bytes`);
      const { route } = call;
      if (!results || route?.item?.outputSchema === undefined) return reply;
      const output = toolResultOf(call, reply.result.object);
      if (output === undefined || output.isError === true) return reply;
      if (!Object.hasOwn(output, "structuredContent"))
        throw withheld(mismatchText("it has no structuredContent"));
      const mismatch = await schemas.validate(route, "outputSchema", output.structuredContent);
      if (mismatch?.outcome === "too_large") throw withheld("is too large to be checked");
      if (mismatch !== undefined) throw withheld(mismatchText(mismatch.reason));
      return reply;
    };
}

const mismatchText = (reason: string): string => `violates its output schema (${reason})`;

/** The tool's own result, where this one contains it; undefined for a task that has only begun. */
function toolResultOf({ method, params }: Call, result: JsonObject): JsonObject | undefined {
  switch (method) {
    case "tools/call": {
      const begun =
        result.resultType === "task" || (Object.hasOwn(params, "task") && objectAt(result, "task"));
      return begun ? undefined : result;
    }
    case "tasks/result":
      return result;
    case "tasks/get":
      return objectAt(result, "result");
    default:
      return undefined;
  }
}

function sizeOf({ text }: Payload): number {
  return typeof text === "string" ? Buffer.byteLength(text) : text.length;
}

/** Says that the tool was carried out, so that the call is not simply made again. */
const executedNote = ({ method, route, params }: Call): string =>
  method === "tools/call"
    ? `"${route?.exposed ?? String(params.name)}" ran, but its result`
    : `the result of ${method}`;

type SchemaMember = "inputSchema" | "outputSchema";

/** Why a value is refused: it does not fit its schema, or is too large to be checked. */
interface Mismatch extends Validation {
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
