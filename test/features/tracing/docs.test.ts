/** docs/traces.md names every attribute of a span. */
import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { inRepository } from "../../support/cardea.js";
import { firstColumn, docsPage as page } from "../../support/docs-pages.js";

test("each attribute of a span is in its table", () => {
  const sources = readdirSync(inRepository("src/features/tracing")).map((name) =>
    readFileSync(inRepository(`src/features/tracing/${name}`), "utf8"),
  );
  const used = sources.flatMap((text) =>
    [...text.matchAll(/"((?:mcp|gen_ai|rpc|network|server|jsonrpc|cardea|error)\.[a-z_.]+)"/g)].map(
      ([, name = ""]) => name,
    ),
  );
  expect(used.length).toBeGreaterThan(10);
  const named = firstColumn(page("traces"), "Spans");
  expect([...new Set(used)].filter((name) => !named.includes(name))).toEqual([]);
});
