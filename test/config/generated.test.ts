/** What is written from the schema must say what the schema says. */
import { readFileSync } from "node:fs";
import Ajv from "ajv/dist/2020.js";
import { describe, expect, test } from "vitest";
import { commandReference } from "../../src/cli/command-reference.js";
import { configJsonSchema } from "../../src/config/json-schema.js";
import { formatProblem } from "../../src/config/problem.js";
import { readConfig } from "../../src/config/read.js";
import { readJson } from "../../src/config/read-json.js";
import { configReference } from "../../src/config/reference.js";
import { plainValue } from "../../src/config/tree.js";
import { FEATURES, SECTIONS } from "../support/features.js";

const file = (name: string): string => readFileSync(new URL(`../../config/${name}`, import.meta.url), "utf8");

/** Compiled once, which takes a second. */
const validate = new Ajv.default({ strict: false }).compile(configJsonSchema(SECTIONS));

describe("what npm run schema writes", () => {
  test("cardea.schema.json is the schema that reads configs", () => {
    expect(JSON.parse(file("cardea.schema.json"))).toEqual(configJsonSchema(SECTIONS));
  });

  test("reference.md documents that schema", () => {
    expect(file("reference.md")).toBe(configReference(SECTIONS));
  });

  test("docs/commands.md is the help of the program", async () => {
    expect(file("../docs/commands.md")).toBe(await commandReference(FEATURES));
  });

  test("cardea.jsonc is right, and the JSON Schema agrees", () => {
    const outcome = readConfig(file("cardea.jsonc"), "config/cardea.jsonc", { env: {}, sections: SECTIONS });
    expect(outcome.problems.map(formatProblem)).toEqual([]);
    const { tree } = readJson(file("cardea.jsonc"));
    expect([validate(tree && plainValue(tree)), validate.errors]).toEqual([true, null]);
  });
});

test("every key says what it is for", () => {
  const silent: string[] = [];
  const look = (schema: unknown, path: string): void => {
    if (typeof schema !== "object" || schema === null) return;
    const { properties } = schema as { properties?: Record<string, { description?: string }> };
    for (const [key, property] of Object.entries(properties ?? {})) {
      if (!property.description) silent.push(`${path}.${key}`);
    }
    for (const [key, inner] of Object.entries(schema)) look(inner, `${path}.${key}`);
  };
  look(configJsonSchema(SECTIONS), "");
  expect(silent).toEqual([]);
});

test.each([
  '{ "mcpServers": { "a": { "command": "x", "timeout": "${T:-5m}" } }, "listen": { "http": { "port": "${P:-1}" } } }',
  '{ "servers": { "a": { "type": "streamableHttp", "url": "https://x.example", "tools": ["a"] } } }',
])("an editor accepts what Cardea accepts: %s", (text) => {
  expect(readConfig(text, "c.json", { env: {}, sections: SECTIONS }).ok).toBe(true);
  expect([validate(JSON.parse(text)), validate.errors]).toEqual([true, null]);
});
