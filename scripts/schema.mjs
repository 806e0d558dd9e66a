/** Writes what is generated: config/cardea.schema.json and config/reference.md from the schema, docs/commands.md from the program. */
import { writeFileSync } from "node:fs";
import { build } from "./build.mjs";
import { root } from "./install.mjs";

build();
const { FEATURES } = await import(`${root}build/features/index.js`);
const { sectionsOf } = await import(`${root}build/cli/feature.js`);
const sections = await sectionsOf(FEATURES);
const { configJsonSchema } = await import(`${root}build/config/json-schema.js`);
const { configReference } = await import(`${root}build/config/reference.js`);
writeFileSync(`${root}config/cardea.schema.json`, `${JSON.stringify(configJsonSchema(sections), null, 2)}\n`);
writeFileSync(`${root}config/reference.md`, configReference(sections));

// The help is as wide as a terminal, where there is one.
process.stdout.isTTY = false;
const { commandReference } = await import(`${root}build/cli/command-reference.js`);
writeFileSync(`${root}docs/commands.md`, await commandReference(FEATURES));
