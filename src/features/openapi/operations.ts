/** Which tools does an OpenAPI document make? One for each operation that the filters of the config select. */

import { ARGUMENT_NAMES } from "../../core/argument-names.js";
import { entryFlaw } from "../../core/list-entries.js";
import { glob } from "../../patterns/globs.js";
import { isObject, type JsonObject, objectAt, stringAt } from "../../wire/json.js";
import { HIDDEN_CHARACTERS } from "../../wire/readable-text.js";
import { describedAs, listedNames, withListedData } from "./listed-names.js";
import type { ApiDescription, Operation } from "./operation.js";
import { type DescribedParameter, type ParameterSource, parameterOf, readParameters } from "./parameters.js";
import { References } from "./references.js";
import { readRequestBody } from "./request-body.js";
import { acceptOf, outputSchemaOf } from "./responses.js";
import { ShapeReader } from "./shapes.js";
import { SchemaConverter } from "./tool-schema.js";
import type { OperationFilter } from "./transport.js";

/** What selects operations, and what is known of all of them. */
export interface OperationOptions {
  readonly include?: OperationFilter | undefined;
  readonly exclude?: OperationFilter | undefined;
  /** Headers and query parameters that the config sets, in lower case: the tools do not ask for them. */
  readonly configured: { readonly headers: ReadonlySet<string>; readonly query: ReadonlySet<string> };
  /** Whether an operation's own servers are those of the API; undefined where the config gives the base URL. */
  readonly isOwnServer?: (url: string) => boolean;
}

const METHODS = ["get", "put", "post", "delete", "options", "head", "patch"];
/** The most characters of `$defs` in an input schema; longer ones would fill a model's context. */
const MAX_INPUT_DEFINITIONS = 64 * 1024;
const MAX_WARNINGS = 20;

/** Reads all operations of `document`, in its order. */
export function readOperations(
  document: JsonObject,
  options: OperationOptions,
): Pick<ApiDescription, "operations" | "routes" | "warnings"> {
  const reader = new OperationReader(document, options);
  const operations = [...reader.read()];
  return { operations, routes: reader.routes, warnings: reader.warnings };
}

class OperationReader {
  readonly warnings: string[] = [];
  readonly routes: string[] = [];
  readonly #document: JsonObject;
  readonly #options: OperationOptions;
  readonly #references: References;
  readonly #shapes: ShapeReader;
  readonly #isVersion30: boolean;
  readonly #names = new Set<string>();
  readonly #isSelected: (path: string, method: string, operation: JsonObject) => boolean;

  constructor(document: JsonObject, options: OperationOptions) {
    this.#document = document;
    this.#options = options;
    this.#references = new References(document);
    this.#shapes = new ShapeReader(this.#references);
    this.#isVersion30 = stringAt(document, "openapi")?.startsWith("3.0") === true;
    const isIncluded = selector(options.include, "every");
    const isExcluded = selector(options.exclude, "some");
    this.#isSelected = (path, method, operation) =>
      isIncluded(path, method, operation) && !isExcluded(path, method, operation);
  }

  *read(): Generator<Operation> {
    for (const [path, value] of Object.entries(objectAt(this.#document, "paths") ?? {})) {
      const item = this.#references.resolved(value);
      if (item === undefined || !path.startsWith("/")) continue;
      for (const method of METHODS) {
        const operation = item[method];
        if (!isObject(operation)) continue;
        this.routes.push(`${method.toUpperCase()} ${path}`);
        if (!this.#isSelected(path, method, operation)) continue;
        try {
          const made = this.#operation(path, method, item, operation);
          if (made !== undefined) yield made;
        } catch (error) {
          if (!(error instanceof UnusableOperation)) throw error;
          this.#warn(`${method.toUpperCase()} ${path} is left out: ${error.message}`);
        }
      }
    }
  }

  #warn(sentence: string): void {
    if (this.warnings.length < MAX_WARNINGS && !this.warnings.includes(sentence))
      this.warnings.push(sentence);
  }

  #operation(path: string, method: string, item: JsonObject, operation: JsonObject): Operation | undefined {
    this.#checkServers(item, operation);
    const converter = this.#converter("input", MAX_INPUT_DEFINITIONS, path, method);
    const known = { references: this.#references, shapes: this.#shapes };
    const described = readParameters({
      lists: [item.parameters, operation.parameters],
      path,
      ...known,
      converter,
      configured: this.#options.configured,
    });
    const body =
      operation.requestBody === undefined || method === "get" || method === "head"
        ? undefined
        : readRequestBody(operation.requestBody, known, converter);
    const { parameters, inputSchema, replaced } = inputOf(
      described,
      { body, isTaken: operation.requestBody !== undefined },
      converter,
      known,
    );
    const responses = objectAt(operation, "responses") ?? {};
    const outputs = this.#converter("output", 0, path, method);
    const outputSchema = outputSchemaOf(responses, this.#references, outputs);
    const entry = {
      name: this.#nameOf(path, method, operation),
      ...titleAndDescription(operation, method, path),
      inputSchema,
      annotations: annotationsOf(method),
      ...(replaced.size > 0 && { _meta: { [ARGUMENT_NAMES]: Object.fromEntries(replaced) } }),
    };
    const whole = { ...entry, ...(outputSchema !== undefined && { outputSchema }) };
    const tool = outputSchema === undefined || entryFlaw("tools", whole) !== undefined ? entry : whole;
    return {
      tool,
      method: method.toUpperCase(),
      path,
      parameters,
      ...(body !== undefined && { body: body.request }),
      accept: acceptOf(responses, this.#references),
      declaresObject: tool === whole,
      redirects: Object.keys(responses).some((status) => status.startsWith("3")),
    };
  }

  #converter(
    direction: "input" | "output",
    maxLength: number,
    path: string,
    method: string,
  ): SchemaConverter {
    return new SchemaConverter({
      references: this.#references,
      isVersion30: this.#isVersion30,
      direction,
      maxLength: direction === "output" ? MAX_OUTPUT_DEFINITIONS : maxLength,
      onUnresolved: (ref) =>
        this.#warn(`${method.toUpperCase()} ${path}: ${ref} leads nowhere, and is taken for any value`),
    });
  }

  /** Where the document sends an operation to another host, the base URL of the config does not hold. */
  #checkServers(item: JsonObject, operation: JsonObject): void {
    const { isOwnServer } = this.#options;
    if (isOwnServer === undefined) return;
    const servers = [operation.servers, item.servers].find((list) => Array.isArray(list) && list.length > 0);
    const first: unknown = Array.isArray(servers) ? servers[0] : undefined;
    const url = isObject(first) ? stringAt(first, "url") : undefined;
    if (url === undefined || isOwnServer(url)) return;
    throw new UnusableOperation(
      "the document has it at another server than the rest of the API (a server of its own, with baseUrl and include, can call it)",
    );
  }

  #nameOf(path: string, method: string, operation: JsonObject): string {
    const id = stringAt(operation, "operationId")?.replace(HIDDEN_CHARACTERS, "").trim() ?? "";
    const ofPath = pathName(method, path);
    let name = id === "" || this.#names.has(id) ? ofPath : id;
    for (let number = 2; this.#names.has(name); number++) name = `${ofPath}_${number}`;
    this.#names.add(name);
    return name;
  }
}

type Body = NonNullable<ReturnType<typeof readRequestBody>>;

/** The parameters with their arguments, and the input schema of the tool. */
function inputOf(
  described: readonly DescribedParameter[],
  /** `isTaken` where no parameter may be called `body`. */
  { body, isTaken }: { readonly body: Body | undefined; readonly isTaken: boolean },
  converter: SchemaConverter,
  known: Pick<ParameterSource, "references" | "shapes">,
) {
  const definitions = converter.definitions();
  const names = listedNames(described, isTaken, [
    ...described.map(({ schema }) => schema),
    body?.schema,
    ...Object.values(definitions ?? {}),
  ]);
  const parameters = described.map((one) => parameterOf(one, names.arguments.get(one) ?? one.name, known));
  const properties = Object.fromEntries([
    ...described.map((one, at) => {
      const argument = parameters[at]?.argument ?? one.name;
      const schema = names.rename(one.schema);
      return [argument, names.replaced.has(argument) ? describedAs(schema, one.name) : schema] as const;
    }),
    ...(body === undefined ? [] : [["body", names.rename(body.schema)] as const]),
  ]);
  const required = [
    ...parameters.filter((one) => one.required).map(({ argument }) => argument),
    ...(body?.request.required === true ? ["body"] : []),
  ];
  const inputSchema = {
    type: "object",
    properties,
    ...(required.length > 0 && { required }),
    additionalProperties: false,
    ...(definitions !== undefined && {
      $defs: Object.fromEntries(
        Object.entries(definitions).map(([name, schema]) => [name, names.rename(schema)]),
      ),
    }),
  };
  const { replaced } = names;
  return {
    parameters,
    replaced,
    inputSchema: replaced.size === 0 ? inputSchema : withListedData(inputSchema, replaced),
  };
}

/** An output schema with longer `$defs` (characters) is left out: few hosts use it, and all of them load it. */
const MAX_OUTPUT_DEFINITIONS = 16 * 1024;

/** The operation cannot be called; the message says why. */
class UnusableOperation extends Error {
  override readonly name = "UnusableOperation";
}

/** `get_pets_by_petId` for `GET /pets/{petId}`. */
function pathName(method: string, path: string): string {
  const words = path.split("/").flatMap((segment) => {
    const named = segment.replace(/\{([^}]*)\}/g, (_, name: string) => `_by_${name}_`);
    return named.replace(/[^A-Za-z0-9_-]+/g, "_").replace(/^_+|_+$/g, "") || [];
  });
  return [method, ...words].join("_").replace(/_{2,}/g, "_");
}

function titleAndDescription(operation: JsonObject, method: string, path: string): JsonObject {
  const summary = stringAt(operation, "summary")?.trim() ?? "";
  const description = stringAt(operation, "description")?.trim() ?? "";
  const route = `${method.toUpperCase()} ${path}`;
  const parts = [
    ...(operation.deprecated === true ? ["Deprecated."] : []),
    ...(summary === "" ? [] : [summary]),
    ...(description === "" || description === summary ? [] : [description]),
  ];
  return {
    ...(summary !== "" && { title: summary }),
    description: parts.length === 0 ? route : parts.join("\n\n"),
  };
}

/** What HTTP says of its methods (RFC 9110, 9.2). */
function annotationsOf(method: string): JsonObject {
  const isSafe = ["get", "head", "options"].includes(method);
  if (isSafe)
    return { readOnlyHint: true, idempotentHint: true, destructiveHint: false, openWorldHint: true };
  return {
    readOnlyHint: false,
    // A POST may only add; what it does the document does not say, so nothing is claimed.
    ...(method !== "post" && { destructiveHint: true }),
    idempotentHint: method === "put" || method === "delete",
    openWorldHint: true,
  };
}

function selector(
  filter: OperationFilter | undefined,
  how: "every" | "some",
): (path: string, method: string, operation: JsonObject) => boolean {
  const tags = filter?.tags?.map(glob);
  const paths = filter?.paths?.map(glob);
  const methods = filter?.methods;
  return (path, method, operation) => {
    const own = Array.isArray(operation.tags) ? operation.tags.filter((tag) => typeof tag === "string") : [];
    const found = [
      tags && own.some((tag) => tags.some((matches) => matches(tag))),
      paths?.some((matches) => matches(path)),
      methods?.includes(method),
    ].filter((one) => one !== undefined);
    return how === "every" ? found.every(Boolean) : found.some(Boolean);
  };
}
