/** `cardea schema`: prints the JSON Schema of the config. */
import { configJsonSchema } from "../config/json-schema.js";
import { EXIT } from "./exit.js";
import { type Shell, write } from "./shell.js";

export async function schema(shell: Shell): Promise<number> {
  await write(shell.stdout, `${JSON.stringify(configJsonSchema(), null, 2)}\n`);
  return EXIT.done;
}
