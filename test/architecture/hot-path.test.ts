/** What must never be loaded by the files that a call runs through (ARCHITECTURE.md, "The hot path"). */

import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { describe, expect, test } from "vitest";
import { inRepository } from "../support/cardea.js";
import { filesOf, type Import, importsOf, readImports } from "./imports.js";

/** Where a call comes in, and what the wiring puts in its way; whatever these import at run time belongs to the path. */
const ENTRANCES = [
  "downstream/http-routes.ts",
  "downstream/stdio-listener.ts",
  "downstream/legacy/edge.ts",
  "downstream/modern/edge.ts",
  "resilience/sealed-state.ts",
  "routing/configured-arguments.ts",
  "core/trace-context.ts",
  "routing/locate.ts",
  "routing/router.ts",
  "telemetry/finished-calls.ts",
  "telemetry/call-records.ts",
  "telemetry/live-calls.ts",
  "telemetry/pending-questions.ts",
  "features/policy/access.ts",
  "features/schema-checks/schema-checks.ts",
  "resilience/circuit-breaker.ts",
  "resilience/concurrency.ts",
  "resilience/deadline.ts",
  "features/policy/limits/limits.ts",
  "resilience/error-boundary.ts",
  "resilience/response-cache.ts",
  "resilience/retry.ts",
  "catalog/catalog.ts",
  "features/tracing/call-spans.ts",
  "features/tracing/span.ts",
  "features/tracing/span-queue.ts",
  "upstream/upstream.ts",
  "upstream/transport/http.ts",
  "upstream/transport/stdio.ts",
];

const FORBIDDEN_PACKAGES = [
  /^zod$/,
  /^@modelcontextprotocol\//,
  /^ajv/,
  /^node-fetch$/,
  /^node:stream\/web$/,
  // Only the entry point is undici's public API.
  /^undici\//,
];
/** Globals of the web platform that cost 9 to 143 µs a call. */
const FORBIDDEN_WORDS =
  /\bfetch\(|\bnew (?:Request|Response|Headers|ReadableStream|WritableStream|TransformStream)\b|\bAbortSignal\.any\b|\b(?:read|write|append)FileSync\b|\bexecSync\b/;

/** Everything that is reachable from `entrances` by imports which are there at run time. */
function reachable(imports: readonly Import[], entrances: readonly string[]): ReadonlySet<string> {
  const found = new Set<string>();
  const waiting = [...entrances];
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    if (found.has(file)) continue;
    found.add(file);
    for (const { file: from, target, typeOnly } of imports) {
      if (from === file && !typeOnly) waiting.push(target);
    }
  }
  return found;
}

const forbidden = (reached: ReadonlySet<string>): readonly string[] =>
  [...reached].filter((target) => FORBIDDEN_PACKAGES.some((pattern) => pattern.test(target)));

/** The text without its comments, which may speak of what the code must not do. */
const codeOf = (text: string): string => text.replace(/\/\*[\s\S]*?\*\//g, "").replace(/^\s*\/\/.*$/gm, "");

describe("the files of the hot path", () => {
  const imports = importsOf("src");

  test("include all files from the listener to the transport", () => {
    const path = reachable(imports, ENTRANCES);
    const files = new Set(imports.map(({ file }) => file));
    // A build may be without a feature.
    const missing = ENTRANCES.filter(
      (file) => !files.has(file) && existsSync(inRepository(`src/${dirname(file)}`)),
    );
    expect(missing).toEqual([]);
    expect(path).toContain("upstream/transport/http-exchange.ts");
    expect(path).toContain("downstream/legacy/messages.ts");
    expect(path).toContain("wire/payload.ts");
  });

  test("import no schema library, no SDK, no web streams, and of undici only its entry point", () => {
    expect(forbidden(reachable(imports, ENTRANCES))).toEqual([]);
  });

  test("use neither fetch nor other classes of the web platform, and no synchronous I/O", () => {
    const path = reachable(imports, ENTRANCES);
    const found = filesOf("src").flatMap(({ file, text }) => {
      const word = path.has(file) ? FORBIDDEN_WORDS.exec(codeOf(text))?.[0] : undefined;
      return word === undefined ? [] : [`${file}: ${word}`];
    });
    expect(found).toEqual([]);
  });
});

test("no file imports or requires internals of undici", () => {
  expect(filesOf("src").filter(({ text }) => /["'`]undici\//.test(text))).toEqual([]);
});

test("the program waits for no other process synchronously, except at its exit", () => {
  const found = filesOf("src").flatMap(({ file, text }) =>
    [...codeOf(text).matchAll(/\b(?:spawn|exec|execFile)Sync\(/g)].map(() => file),
  );
  // At the exit nothing else can be done any longer: a process tree on Windows, and a container, are ended.
  expect(found).toEqual(["upstream/transport/process-group.ts", "upstream/transport/process-group.ts"]);
});

describe("the checks themselves", () => {
  test("a package is found through other files, and not through type imports", () => {
    const imports = [
      ...readImports("a.ts", 'import { b } from "./b.js";\nimport type { z } from "zod";'),
      ...readImports("b.ts", 'import { c } from "./c.js";'),
      ...readImports("c.ts", 'import { Client } from "@modelcontextprotocol/sdk/client";'),
    ];
    expect(forbidden(reachable(imports, ["b.ts"]))).toEqual(["@modelcontextprotocol/sdk/client"]);
    expect(forbidden(reachable(readImports("a.ts", 'import type { z } from "zod";'), ["a.ts"]))).toEqual([]);
    expect(forbidden(reachable(readImports("a.ts", 'import { z } from "zod";'), ["a.ts"]))).toEqual(["zod"]);
  });

  test.each([
    ["await fetch(url)", true],
    ["return new Response(body)", true],
    ["AbortSignal.any([a, b])", true],
    ["fetchPage(url)", false],
    ["const walk = { fetch };", false],
    ["new ResponseHead()", false],
    ["/* fetch( */ x();", false],
  ])("%s", (code, expected) => {
    expect(FORBIDDEN_WORDS.test(codeOf(code))).toBe(expected);
  });
});
