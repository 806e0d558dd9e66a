/** `cardea schema`: prints the JSON Schema of the config. */
import { configJsonSchema } from "../config/json-schema.js";
import { type CommandContext, write } from "./command-context.js";
import { EXIT } from "./exit.js";
import { sectionsOf } from "./feature.js";

/** Returns the exit code. */
export async function schema(shell: CommandContext): Promise<number> {
  await write(
    shell.stdout,
    `${JSON.stringify(configJsonSchema(await sectionsOf(shell.features)), null, 2)}\n`,
  );
  return EXIT.done;
}
