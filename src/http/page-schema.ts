/** A page of the admin API, whose answer has the type of its schema. */
import { z } from "zod";
import type { PageKind } from "../core/admin-page.js";

/** What a page answers by its schema, read only. */
export type Shown<T> = T extends readonly (infer Entry)[]
  ? readonly Shown<Entry>[]
  : T extends object
    ? { readonly [Member in keyof T]: Shown<T[Member]> }
    : T;

/** A schema that says less than its type: what the document leaves open, the type has as far as it is read. */
export const typed = <Type>(schema: z.ZodType): z.ZodType<Type> => schema as z.ZodType<Type>;

/** How a server is reached: `stdio`, `http`, a `type` of a feature; `unknown` where its entry in the config is wrong. */
export const transport = z.string();

/** The parameters of a query that name a principal. */
export const PRINCIPAL_QUERY = ["as", "group", "scope"] as const;

/** Makes a page. */
export const page = <Schema extends z.ZodType>({
  schema,
  ...row
}: { readonly schema: Schema } & Omit<PageKind<Shown<z.output<Schema>>>, "answerSchema">): PageKind<
  Shown<z.output<Schema>>
> => ({
  ...row,
  answerSchema: ({ serverTypes }) =>
    z.toJSONSchema(schema, {
      override: ({ zodSchema, jsonSchema }) => {
        if (zodSchema === transport) jsonSchema.enum = ["stdio", "http", ...serverTypes, "unknown"];
      },
    }),
});
