/** What does the gateway know of one operation of an OpenAPI document? Plain data, which a worker thread can post. */
import type { JsonObject } from "../../wire/json.js";

/** Where a parameter goes. */
export type ParameterPlace = "path" | "query" | "header" | "cookie";

/** How a value is written (OpenAPI 3.1.1, "Style Values"). */
export type Style =
  | "simple"
  | "label"
  | "matrix"
  | "form"
  | "spaceDelimited"
  | "pipeDelimited"
  | "deepObject";

/** What a schema says of a value: its types, and the names of its members. Schemas below the tenth level say nothing. */
export interface Shape {
  /** Of JSON; undefined where the schema names none. */
  readonly types?: readonly string[];
  /** The values that the schema lists (`enum`, `const`); undefined where it lists none. */
  readonly values?: readonly unknown[];
  readonly members: ReadonlyMap<string, Shape>;
  /** True where the schema admits members that it does not name. */
  readonly isOpen: boolean;
  /** Of the members that are not named. */
  readonly others?: Shape;
  /** Of the items of a list; undefined where the schema describes none. */
  readonly items?: Shape;
}

/** One parameter, and the argument of the tool that it is taken from. */
export interface Parameter {
  readonly argument: string;
  readonly name: string;
  readonly in: ParameterPlace;
  readonly style: Style;
  readonly explode: boolean;
  readonly allowReserved: boolean;
  /** How the one text is written where `content` describes the parameter instead of `schema`. */
  readonly content?: "json" | "text";
  /** False where the schema admits no object, or says nothing of it and members would be names of their own. */
  readonly takesObject: boolean;
  readonly required: boolean;
  readonly shape: Shape;
}

/** How one property of a form is written. */
export interface FormField {
  /** True for files and other bytes, which the argument has as base64. */
  readonly isBinary: boolean;
  readonly contentType?: string;
  /** Only where the document gives one. */
  readonly style?: Style;
  readonly explode?: boolean;
}

/** The request body, taken from the argument `body`. */
export interface RequestBody {
  readonly mediaType: string;
  readonly kind: "json" | "form" | "multipart" | "text" | "binary";
  readonly required: boolean;
  /** Fields of a form that need more than the default. */
  readonly fields: Readonly<Record<string, FormField>>;
  /** All fields of a form that the document names. */
  readonly names: readonly string[];
  readonly shape: Shape;
}

/** One operation: its tool, and how its request is written. */
export interface Operation {
  /** The list entry. */
  readonly tool: JsonObject;
  /** In upper case. */
  readonly method: string;
  /** The path template, below the base URL. */
  readonly path: string;
  readonly parameters: readonly Parameter[];
  readonly body?: RequestBody;
  /** The `Accept` header. */
  readonly accept: string;
  /** True where the tool has an output schema, so that a success must have a JSON object. */
  readonly declaresObject: boolean;
  /** Redirects that the document describes, so that they are no failures. */
  readonly redirects: boolean;
}

/** What was read from a document. */
export interface ApiDescription {
  readonly title: string;
  readonly version: string;
  /** Without a slash at the end of its path. */
  readonly baseUrl: string;
  /** True where connections may be opened to public addresses only. */
  readonly mustBePublic: boolean;
  readonly operations: readonly Operation[];
  /** Method and path of all operations, also of those that the config does not select: `GET /pets/{id}`. */
  readonly routes: readonly string[];
  /** Operations and schemas that could not be used, as sentences; at most 20. */
  readonly warnings: readonly string[];
}
