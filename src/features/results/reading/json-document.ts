/** Which texts are JSON documents, and what does a pointer lead to in one? */
import { isObject, type JsonObject } from "../../../wire/json.js";
import { exceedsDepth } from "../../../wire/json-scan.js";
import { parseJson } from "../../../wire/json-text.js";

/** What has items: a list, or an object. */
export type Container = JsonObject | readonly unknown[];

export const isContainer = (value: unknown): value is Container => Array.isArray(value) || isObject(value);

/** Deeper values are read as text: writing them takes the stack. */
const MAX_DEPTH = 200;

/** The list or object that `text` is the JSON of; undefined for any other text. */
export function containerIn(text: string): Container | undefined {
  const start = text.trimStart();
  const last = text.trimEnd().at(-1);
  if (!(start.startsWith("{") && last === "}") && !(start.startsWith("[") && last === "]")) return undefined;
  if (exceedsDepth(text, MAX_DEPTH)) return undefined;
  try {
    const value = parseJson(text);
    return isContainer(value) ? value : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** A value that a pointer leads to; undefined where there is none. */
export type Found = { readonly value: unknown } | undefined;

/** Follows a JSON pointer (RFC 6901) from `root`; into JSON texts, too. @throws SyntaxError for a text that is none */
export function followPointer(root: unknown, pointer: string): Found {
  if (pointer === "") return { value: root };
  if (!pointer.startsWith("/")) throw new SyntaxError("must begin with a slash");
  let value = root;
  for (const key of keysOf(pointer)) {
    if (typeof value === "string") value = containerIn(value);
    if (Array.isArray(value)) {
      if (!/^(0|[1-9]\d*)$/.test(key) || Number(key) >= value.length) return undefined;
      value = value[Number(key)];
    } else if (isObject(value) && Object.hasOwn(value, key)) value = value[key];
    else return undefined;
  }
  return { value };
}

/** Members by which people know an object. */
const LABELS = ["name", "title", "id", "key", "path", "label"] as const;
const MAX_LABEL = 60;

/** The member of an object that names it; undefined if none is short. */
export const labelKey = (value: JsonObject): string | undefined =>
  LABELS.find((key) => {
    const label = value[key];
    return (
      typeof label === "number" || (typeof label === "string" && label !== "" && label.length <= MAX_LABEL)
    );
  });

/** The labels of the objects on the way from `root` along `keys`, without that at its end. */
export function labelsAlong(root: unknown, keys: readonly string[]): readonly string[] {
  const labels: string[] = [];
  let value = root;
  for (const key of keys) {
    const name = isObject(value) ? labelKey(value) : undefined;
    if (name !== undefined && name !== key) labels.push(String((value as JsonObject)[name]));
    value = isContainer(value) ? (value as JsonObject)[key] : undefined;
  }
  return labels;
}

/** The keys of a JSON pointer. */
export const keysOf = (pointer: string): readonly string[] =>
  pointer
    .split("/")
    .slice(1)
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));

/** `pointer` with one more part. */
export const extended = (pointer: string, key: string | number): string =>
  `${pointer}/${String(key).replaceAll("~", "~0").replaceAll("/", "~1")}`;
