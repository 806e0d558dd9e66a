/** How does the argument `body` become the body of a request? */
import { randomUUID } from "node:crypto";
import { isObject } from "../../wire/json.js";
import { writeJson } from "../../wire/json-text.js";
import { checkJsonBody, checkMethodOverride, checkNames, checkWritten, memberShape } from "./check-shape.js";
import { checkCount, refuseTaken, UnusableArgument } from "./given-values.js";
import type { FormField, RequestBody } from "./operation.js";
import { encodeValue, type Pair, pairsOf, plainText } from "./styles.js";
import { TakenNames } from "./taken-names.js";

/** A body and its type. */
export interface WrittenBody {
  readonly contentType: string;
  readonly content: string | Buffer;
}

/** The body; undefined where there is none and none is required. @throws UnusableArgument */
export function writeBody(body: RequestBody, value: unknown): WrittenBody | undefined {
  const { kind, mediaType: contentType } = body;
  if (value === undefined) {
    if (body.required) throw new UnusableArgument('the argument "body" is required');
    return undefined;
  }
  switch (kind) {
    case "json":
      checkJsonBody(value, body.shape);
      return { contentType, content: writeJson(value) };
    case "text":
      return { contentType, content: plainText(value) };
    case "binary":
      return { contentType, content: bytesOf("body", value) };
    case "form":
      return { contentType, content: writeForm(body, membersOf(body, value)) };
    case "multipart":
      return writeMultipart(body, membersOf(body, value));
  }
}

type Members = readonly (readonly [string, unknown])[];

/** The fields of a form. One that the document does not name must be admitted, and may not be taken for one that it names. */
function membersOf(body: RequestBody, value: unknown): Members {
  if (!isObject(value))
    throw new UnusableArgument('the argument "body" must be an object: the fields of a form');
  const names = [...new Set([...body.names, ...body.shape.members.keys()])];
  const described = new Set(names);
  const others = Object.keys(value).filter((name) => !described.has(name));
  if (others.length > 0) {
    const taken = new TakenNames(names);
    for (const name of others) refuseTaken("body", name, [name], taken);
    checkNames("body", others, body.shape.isOpen, names);
  }
  for (const [name, inner] of Object.entries(value)) {
    const { style } = fieldOf(body, name);
    const isJson = body.kind === "multipart" || style === undefined;
    const written = isJson ? "json" : style === "deepObject" ? "deep" : "flat";
    const shape = memberShape(body.shape, name);
    checkMethodOverride(`body.${name}`, name, inner, shape);
    checkWritten(`body.${name}`, inner, shape, written);
  }
  return Object.entries(value).filter(([, inner]) => inner !== undefined && inner !== null);
}

const NO_FIELD: FormField = { isBinary: false };

const fieldOf = ({ fields }: RequestBody, name: string): FormField =>
  Object.hasOwn(fields, name) ? (fields[name] ?? NO_FIELD) : NO_FIELD;

/** Without a style lists are repeated and objects are JSON (3.1.1, "Encoding Object"). */
function writeForm(body: RequestBody, members: Members): string {
  let taken: TakenNames | undefined;
  const pairs = members.flatMap(([name, value]): readonly Pair[] => {
    const { style, explode } = fieldOf(body, name);
    if (style === undefined && isObject(value)) return [[encodeValue(name), encodeValue(writeJson(value))]];
    const written = pairsOf(name, value, {
      style: style ?? "form",
      explode: explode ?? (style === undefined || style === "form"),
      encode: encodeValue,
    });
    const chosen = written.map(([one]) => decodeURIComponent(one)).filter((one) => one !== name);
    if (chosen.length > 0) {
      taken ??= new TakenNames(new Set([...body.names, ...members.map(([one]) => one)]));
      refuseTaken(`body.${name}`, name, chosen, taken);
    }
    return written;
  });
  checkCount(pairs.length);
  return pairs.map((pair) => pair.join("=")).join("&");
}

function writeMultipart(body: RequestBody, members: Members): WrittenBody {
  const boundary = `cardea-${randomUUID()}`;
  const chunks: Buffer[] = [];
  let count = 0;
  for (const [name, value] of members) {
    const field = fieldOf(body, name);
    for (const one of Array.isArray(value) ? value : [value]) {
      const { headers, content } = partOf(name, one, field);
      chunks.push(Buffer.from(`--${boundary}\r\n${headers}\r\n\r\n`), content, Buffer.from("\r\n"));
      count += 1;
    }
  }
  checkCount(count);
  chunks.push(Buffer.from(`--${boundary}--\r\n`));
  return {
    contentType: `${body.mediaType.split(";")[0]}; boundary=${boundary}`,
    content: Buffer.concat(chunks),
  };
}

function partOf(name: string, value: unknown, { isBinary, contentType }: FormField) {
  const quoted = checkedName(name);
  const disposition = `Content-Disposition: form-data; name="${quoted}"`;
  if (isBinary) {
    const type = contentType ?? "application/octet-stream";
    return {
      headers: `${disposition}; filename="${quoted}"\r\nContent-Type: ${type}`,
      content: bytesOf(`body.${name}`, value),
    };
  }
  const type = contentType ?? (isObject(value) ? "application/json" : undefined);
  const text = isObject(value) ? writeJson(value) : plainText(value);
  return {
    headers: type === undefined ? disposition : `${disposition}\r\nContent-Type: ${type}`,
    content: Buffer.from(text),
  };
}

/** Parsers disagree on how quotes, backslashes and line breaks in a name are written. */
function checkedName(name: string): string {
  if (!/["\\\p{Cc}]/u.test(name)) return name;
  throw new UnusableArgument(
    `the name of a field of "body" may hold no quotes, backslashes or control characters: ${writeJson(name.slice(0, 100))}`,
  );
}

function bytesOf(argument: string, value: unknown): Buffer {
  const text = typeof value === "string" ? value.replace(/^data:[^,]*;base64,/, "").replace(/\s+/g, "") : "?";
  if (!/^[A-Za-z0-9+/_-]*={0,2}$/.test(text))
    throw new UnusableArgument(`the argument "${argument}" must be the bytes in base64`);
  return Buffer.from(text, "base64");
}
