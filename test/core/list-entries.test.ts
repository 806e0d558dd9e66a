/** Left out is what some official SDK cannot read, or the API of a model, and nothing else. */
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, test } from "vitest";
import { entryFlaw } from "../../src/core/list-entries.js";
import {
  hasObjectRoot,
  withObjectSchemas,
  wrapOutputSchema,
} from "../../src/downstream/legacy/older-forms.js";
import { isObject, objectAt } from "../../src/wire/json.js";
import { parseJson } from "../../src/wire/json-text.js";
import { type Mutation, mutationsOf, RICH_SCHEMA, schemaMutations, WHOLE } from "../support/mutations.js";
import type { List } from "../support/peers/host.js";
import { READERS, type Reader } from "../support/peers/sdk-readers.js";
import { sample } from "../support/sample.js";

const LISTS = Object.keys(WHOLE) as readonly List[];

/** The entry as the edge of that era shows it. */
function shownTo({ era }: Reader, list: List, entry: unknown): unknown {
  if (era === "modern" || list !== "tools" || !isObject(entry)) return entry;
  const older = withObjectSchemas(entry);
  const output = objectAt(older, "outputSchema");
  return output === undefined || hasObjectRoot(output)
    ? older
    : { ...older, outputSchema: wrapOutputSchema(output) };
}

const reads = (reader: Reader, list: List, entry: unknown): Promise<boolean> =>
  reader.read(list, [shownTo(reader, list, entry)]).then(
    () => true,
    () => false,
  );

describe.each(LISTS)("an entry of %s", (list) => {
  test("with every member that a revision defines is read", () => {
    expect(entryFlaw(list, WHOLE[list])).toBeUndefined();
  });

  test("is omitted exactly if an SDK or a model's API could not read a list with it", async () => {
    expect(await misjudged(sample(`odd ${list}`, mutationsOf(list), 150), READERS)).toEqual([]);
  });
});

test("a tool whose output schema hosts cannot compile is omitted, and no other", async () => {
  expect(entryFlaw("tools", { ...WHOLE.tools, outputSchema: RICH_SCHEMA })).toBeUndefined();
  expect(await misjudged(sample("odd schemas", schemaMutations(), 250), READERS)).toEqual([]);
});

const ajv = new Ajv2020({ strict: false, validateFormats: false, logger: false });
const DIALECT = "https://json-schema.org/draft/2020-12/schema";

/** APIs of models check the input schemas of all tools by the meta-schema. */
function hasValidInput(entry: unknown): boolean {
  const schema = isObject(entry) ? objectAt(entry, "inputSchema") : undefined;
  if (schema === undefined || (schema.$schema ?? DIALECT) !== DIALECT) return true;
  return ajv.validateSchema(structuredClone(schema)) === true;
}

/** The mutations of which `readers` and the gateway think otherwise. */
async function misjudged(
  mutations: readonly Mutation[],
  readers: readonly Reader[],
): Promise<readonly string[]> {
  const wrong: string[] = [];
  for (const { name, list, entry } of mutations) {
    const flaw = entryFlaw(list, entry);
    const read = await Promise.all(readers.map((reader) => reads(reader, list, entry)));
    if ((read.every(Boolean) && hasValidInput(entry)) === (flaw === undefined)) continue;
    wrong.push(`${name}: read by ${read.join(", ")}, yet ${flaw?.member} ${flaw?.reason}`);
  }
  return wrong;
}

test.each(["1.0", "0.50", "1e-1", "-0"])("a priority may be written as %s", (priority) => {
  const entry = (value: string) => parseJson(`{"uri":"a:b","name":"n","annotations":{"priority":${value}}}`);
  expect(entryFlaw("resources", entry(priority))).toBeUndefined();
  expect(entryFlaw("resources", entry("1.10"))).toMatchObject({
    reason: "must be a number from 0 to 1, not a number",
  });
});
