/** Whether a message is what the official schema of its revision says it must be. */
import type { Ajv } from "ajv";
import { Ajv as AjvDraft7 } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { officialSchema, type Revision } from "./official-schemas.js";
import type { Json } from "./peers/host.js";

export type Sender = "client" | "server";

export interface Context {
  readonly revision: Revision;
  readonly sender: Sender;
  /** Of a response: the method of the request that it answers. */
  readonly answers?: string;
}

/** What is wrong with the message, in the words of the schema; empty when nothing is. */
export function schemaErrors(message: unknown, { revision, sender, answers }: Context): readonly string[] {
  const schema = schemaOf(revision);
  if (typeof message !== "object" || message === null) return ["it is no object"];
  const { method, error, result } = message as Json;
  if (typeof method === "string") {
    const kind = "id" in message ? "Request" : "Notification";
    const definition = schema.messages.get(`${kind} ${method}`);
    // A method that the revision does not know is an extension's: only its frame can be checked.
    if (definition === undefined) return schema.errors(`JSONRPC${kind}`, message);
    const senders = schema.senders(definition, kind);
    if (!senders.includes(sender)) return [`a ${sender} never sends ${method}`];
    return schema.errors(definition, message);
  }
  if (error !== undefined) return schema.errors(schema.errorFrame((error as Json).code), message);
  const frame = schema.errors(schema.resultFrame, message);
  return [...frame, ...schema.errors(schema.resultOf(answers, result), result)];
}

interface Schema {
  /** Definitions of requests and notifications, by `Request METHOD` or `Notification METHOD`. */
  readonly messages: ReadonlyMap<string, string>;
  readonly resultFrame: string;
  errors(definition: string, value: unknown): readonly string[];
  senders(definition: string, kind: "Request" | "Notification"): readonly Sender[];
  errorFrame(code: unknown): string;
  resultOf(method: string | undefined, result: unknown): string;
}

const schemas = new Map<Revision, Schema>();

function schemaOf(revision: Revision): Schema {
  const known = schemas.get(revision);
  if (known !== undefined) return known;
  const schema = compile(withoutErrata(officialSchema(revision)));
  schemas.set(revision, schema);
  return schema;
}

/** Definitions that are unions or aliases of others and so are no message of their own. */
const UNIONS = /^(Client|Server)(Request|Notification|Result)$/;

function compile(document: Json): Schema {
  const key = "$defs" in document ? "$defs" : "definitions";
  const definitions = document[key] as Readonly<Record<string, Json>>;
  const options = { strict: false, allErrors: true } as const;
  const ajv: Ajv = key === "$defs" ? new Ajv2020(options) : new AjvDraft7(options);
  addFormats.default(ajv);
  // The schemas mark Base64 with a format of OpenAPI that ajv-formats does not know.
  ajv.addFormat("byte", /^[A-Za-z0-9+/]*={0,2}$/);
  ajv.addSchema({ ...document, $id: "mcp" });

  const messages = new Map<string, string>();
  const codes = new Map<unknown, string>();
  for (const [name, definition] of Object.entries(definitions)) {
    const properties = propertiesOf(definition);
    const method = properties.method?.const;
    if (typeof method === "string" && !UNIONS.test(name)) {
      messages.set(`${name.endsWith("Notification") ? "Notification" : "Request"} ${method}`, name);
    }
    for (const code of codesIn(properties.error)) codes.set(code, name);
  }
  const first = (...names: readonly string[]): string => names.find((name) => name in definitions) ?? "";
  return {
    messages,
    resultFrame: first("JSONRPCResultResponse", "JSONRPCResponse"),
    errors(definition, value) {
      const validate = ajv.getSchema(`mcp#/${key}/${definition}`);
      if (validate === undefined) throw new Error(`the schema has no ${definition}`);
      if (validate(value) === true) return [];
      return (validate.errors ?? []).map(
        ({ instancePath, message, params }) =>
          `${definition}${instancePath} ${message ?? "is wrong"} ${JSON.stringify(params)}`,
      );
    },
    senders(definition, kind) {
      const methodOf = (name: string): unknown => propertiesOf(definitions[name]).method?.const;
      // A union of one is written as a copy of that one.
      const isIn = (union: string): boolean =>
        methodOf(union) === methodOf(definition) ||
        JSON.stringify(definitions[union] ?? {}).includes(`"#/${key}/${definition}"`);
      return [
        ...(isIn(`Client${kind}`) ? (["client"] as const) : []),
        ...(isIn(`Server${kind}`) ? (["server"] as const) : []),
      ];
    },
    errorFrame: (code) => codes.get(code) ?? first("JSONRPCErrorResponse", "JSONRPCError"),
    resultOf(method, result) {
      if ((result as Json | undefined)?.resultType === "input_required") return "InputRequiredResult";
      const request = messages.get(`Request ${method}`);
      return first(request?.replace(/Request$/, "Result") ?? "", "Result");
    },
  };
}

const propertiesOf = (definition: Json | undefined): Readonly<Record<string, Json>> =>
  (definition?.properties ?? {}) as Readonly<Record<string, Json>>;

/** The codes that a definition of an error response is for. */
function codesIn(error: Json | undefined): readonly unknown[] {
  const parts = [error, ...((error?.allOf as readonly Json[] | undefined) ?? [])];
  return parts
    .map((part) => ((part?.properties as Json | undefined)?.code as Json | undefined)?.const)
    .filter((code) => code !== undefined);
}

/**
 * The released schemas of two revisions say `integer` where their own source (schema.ts) says `number`; the
 * specification's repository has fixed it since.
 */
function withoutErrata(document: Json): Json {
  const text = JSON.stringify(document, (name, value: unknown) => {
    if (name !== "NumberSchema") return value;
    return JSON.parse(JSON.stringify(value).replaceAll('{"type":"integer"}', '{"type":"number"}'));
  });
  return JSON.parse(text) as Json;
}
