/** The JSON Schema of the config file for editors, generated from the zod schema. */
import { z } from "zod";
import { fileSchema } from "./schema.js";
import type { Section } from "./section.js";

/** The JSON Schema (2020-12) of the config file, with the sections of features. */
export function configJsonSchema(sections: readonly Section[]): Readonly<Record<string, unknown>> {
  const { $schema, ...schema } = z.toJSONSchema(fileSchema(sections), { io: "input" });
  return {
    $schema,
    title: "Cardea's config",
    ...schema,
  };
}
