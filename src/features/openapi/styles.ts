/** How is the value of a parameter written in a path, a query, a header or a cookie (OpenAPI 3.1.1, "Style Values")? */
import { isObject } from "../../wire/json.js";
import { writeJson } from "../../wire/json-text.js";
import type { Style } from "./operation.js";

/** How a value is written. */
export interface StyleOptions {
  readonly style: Style;
  readonly explode: boolean;
  /** Encodes one name or value for where it goes. */
  readonly encode: (text: string) => string;
}

/** Whether the members of an object are written under names of their own, like parameters. */
export const isExploded = ({ style, explode }: Pick<StyleOptions, "style" | "explode">): boolean =>
  explode && (style === "form" || style === "matrix");

/** A name and its value in a query, a form or a cookie; both are encoded. */
export type Pair = readonly [name: string, value: string];

/** The text of a single value; objects and lists as JSON. */
export function plainText(value: unknown): string {
  if (typeof value === "string") return value;
  return value === null ? "" : writeJson(value);
}

const membersOf = (value: object): readonly (readonly [string, unknown])[] =>
  Object.entries(value).filter(([, inner]) => inner !== undefined);

/** A value in a path segment, or in a header (`simple`). */
export function segmentText(name: string, value: unknown, { style, explode, encode }: StyleOptions): string {
  const text = (one: unknown): string => encode(plainText(one));
  if (Array.isArray(value)) {
    const items = value.map(text);
    if (style === "label") return `.${items.join(explode ? "." : ",")}`;
    if (style === "matrix")
      return explode ? items.map((item) => `;${name}=${item}`).join("") : `;${name}=${items.join(",")}`;
    return items.join(",");
  }
  if (isObject(value)) {
    const pairs = membersOf(value).map(([key, inner]) => [encode(key), text(inner)] as const);
    const exploded = pairs.map(([key, inner]) => `${key}=${inner}`);
    const flat = pairs.flat().join(",");
    if (style === "label") return `.${explode ? exploded.join(".") : flat}`;
    if (style === "matrix") return explode ? exploded.map((pair) => `;${pair}`).join("") : `;${name}=${flat}`;
    return explode ? exploded.join(",") : flat;
  }
  if (style === "label") return `.${text(value)}`;
  return style === "matrix" ? `;${name}=${text(value)}` : text(value);
}

/** A value as the pairs of a query, a form or a cookie. An empty list has none. */
export function pairsOf(name: string, value: unknown, options: StyleOptions): readonly Pair[] {
  const { style, explode, encode } = options;
  const key = encode(name);
  const text = (one: unknown): string => encode(plainText(one));
  if (style === "deepObject" && typeof value === "object" && value !== null)
    return deepPairs(key, value, encode);
  const separator = style === "spaceDelimited" ? "%20" : style === "pipeDelimited" ? "%7C" : ",";
  if (Array.isArray(value)) {
    if (value.length === 0) return [];
    return explode ? value.map((one) => [key, text(one)]) : [[key, value.map(text).join(separator)]];
  }
  if (isObject(value)) {
    const members = membersOf(value);
    return isExploded(options)
      ? members.map(([inner, one]) => [encodeValue(inner), text(one)])
      : [[key, members.flatMap(([inner, one]) => [encodeValue(inner), text(one)]).join(separator)]];
  }
  return [[key, text(value)]];
}

/** `filter[owner][name]=x`; the specification leaves open what is below the first level, servers read it so. */
function deepPairs(key: string, value: unknown, encode: (text: string) => string): readonly Pair[] {
  if (Array.isArray(value)) return value.flatMap((one, index) => deepPairs(`${key}[${index}]`, one, encode));
  if (isObject(value))
    return membersOf(value).flatMap(([inner, one]) =>
      deepPairs(`${key}[${encodeValue(inner)}]`, one, encode),
    );
  return [[key, encode(plainText(value))]];
}

/** Percent-encodes for a path segment, a query value or a form (RFC 3986, 2.3). */
export const encodeValue = (text: string): string =>
  encodeURIComponent(text.toWellFormed()).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );

/** The same with the reserved characters left as they are, without those that would begin another parameter. */
export const encodeReserved = (text: string): string =>
  encodeURI(text.toWellFormed()).replace(/[&#+;]/g, encodeURIComponent);
