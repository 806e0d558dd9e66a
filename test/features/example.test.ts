/** The feature of docs/adding-a-feature.md, in a gateway with hosts and servers. */

import "./admin/needed.js";
import { readFileSync } from "node:fs";
import { expect, onTestFinished, test } from "vitest";
import { sectionsOf } from "../../src/cli/feature.js";
import { openFeatures } from "../../src/cli/open-features.js";
import { readConfig } from "../../src/config/read.js";
import { SILENT } from "../../src/core/logger.js";
import { createGateway } from "../../src/gateway/gateway.js";
import { inRepository } from "../support/cardea.js";
import { wordCount } from "../support/example-feature/feature.js";
import { FEATURES } from "../support/features.js";
import { listening } from "../support/gateway.js";
import { httpWire } from "../support/host/wires.mjs";
import { openLegacy } from "../support/peers/raw.js";
import { recordingServer } from "../support/servers/recording-server.js";

const RESULT = {
  content: [
    { type: "text", text: "one two three" },
    { type: "text", text: "four" },
  ],
};

test("it stands in the page as it is built here", () => {
  const source = readFileSync(inRepository("test/support/example-feature/feature.ts"), "utf8");
  const shown = /```ts\n([\s\S]*?)```\n/.exec(readFileSync(inRepository("docs/adding-a-feature.md"), "utf8"));
  expect(shown?.[1]).toBe(source.replaceAll("../../../src/", "../../"));
});

test("it counts the words of results, warns of a long one, and its metric is scraped", async () => {
  const warnings: unknown[] = [];
  const server = await recordingServer(
    "notes",
    "modern",
    { tools: [{ name: "read", inputSchema: { type: "object" } }] },
    () => {},
    ({ method }) => (method === "tools/call" ? RESULT : undefined),
  );
  const read = readConfig(
    JSON.stringify({
      listen: { http: { port: 0 }, admin: { port: 0 } },
      mcpServers: { notes: { url: server.url } },
      wordCount: { warnAbove: 3 },
    }),
    "cardea.json",
    { sections: await sectionsOf([...FEATURES, wordCount]) },
  );
  if (!read.ok) throw new Error(JSON.stringify(read.problems));
  const logger = { ...SILENT, warn: (fields: object) => void warnings.push(fields) };
  const context = {
    ...{ env: {}, stateFolder: undefined, logger, redact: (text: string) => text, version: "0" },
    ...{ worker: undefined, configDigest: undefined, servesHosts: true },
  };
  const features = await openFeatures([...FEATURES, wordCount], read.config, context);
  const gateway = createGateway(read.config, { logger, version: "0", features });
  const { url, adminUrl } = await listening(gateway);
  onTestFinished(async () => {
    await gateway.stop({ immediate: true });
    await server.close();
  });
  const host = await openLegacy(httpWire(url));
  await host.request("tools/call", { name: "notes__read" });
  expect(warnings).toEqual([{ tool: "notes__read", words: 4 }]);
  expect(await (await fetch(`${adminUrl}/metrics`)).text()).toContain("cardea_result_words 4\n");
});

test("its section is checked like any other, and unknown to a build without it", async () => {
  const text = '{\n  "wordCount": { "warnAbove": 0 }, "mcpServers": {}\n}';
  const withIt = readConfig(text, "cardea.json", { sections: await sectionsOf([...FEATURES, wordCount]) });
  expect(withIt.problems).toMatchObject([
    { line: 2, message: expect.stringContaining("wordCount.warnAbove") },
  ]);
  const without = readConfig(text, "cardea.json", {});
  expect(without.problems).toMatchObject([
    { line: 2, column: 3, message: expect.stringContaining("feature") },
  ]);
});
