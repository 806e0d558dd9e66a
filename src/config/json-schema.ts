/** The JSON Schema of the config file for editors, generated from the zod schema. */
import { z } from "zod";
import { fileSchema } from "./schema.js";

/** The JSON Schema (2020-12) of the config file. */
export function configJsonSchema(): Readonly<Record<string, unknown>> {
  const { $schema, ...schema } = z.toJSONSchema(fileSchema, { io: "input" });
  return {
    $schema,
    title: "Cardea's config",
    ...schema,
  };
}
