/** Whatever a server says of itself, official SDKs take the gateway in front of it, and what they can read is shown. */
import { expect, test } from "vitest";
import { describeServers } from "../../src/catalog/describe-servers.js";
import { serverNamespace } from "../../src/catalog/server-namespace.js";
import type { JsonObject } from "../../src/wire/json.js";
import { oddOnes, WHOLE_CAPABILITIES, WHOLE_INFO } from "../support/mutations.js";
import { READERS } from "../support/peers/sdk-readers.js";
import { sample } from "../support/sample.js";
import { SELF, server } from "./support.js";

const NAMING = { separator: "__", maxLength: 60 };
const space = serverNamespace(server("one", { prefix: "" }));
const ODD_CAPABILITIES = sample("odd capabilities", oddOnes(WHOLE_CAPABILITIES), 80);
const ODD_INFOS = sample("odd introductions", oddOnes(WHOLE_INFO), 40);

/** The gateway in front of one server under its own names. */
function introduced(capabilities: JsonObject, serverInfo: JsonObject = WHOLE_INFO) {
  const facts = { capabilities, serverInfo };
  return describeServers([{ space, facts, hasVisible: () => true }], SELF, NAMING);
}

/** Those that cannot be met, of them that could be directly; and what was taken from those that could. */
async function faults(odd: JsonObject, { capabilities, serverInfo }: ReturnType<typeof introduced>) {
  const refused: string[] = [];
  for (const reader of READERS) {
    const met = await reader.meet(capabilities, serverInfo).catch((error: unknown) => String(error));
    if (met !== undefined) refused.push(`${reader.name} refuses ${JSON.stringify(odd)}`);
  }
  return refused;
}

test("malformed capabilities do not break hosts", async () => {
  const refused: string[] = [];
  for (const { odd } of ODD_CAPABILITIES) refused.push(...(await faults(odd, introduced(odd))));
  expect(refused).toEqual([]);
});

test("capabilities that every host can read are shown as they are", async () => {
  const changed: string[] = [];
  for (const { name, odd } of ODD_CAPABILITIES) {
    const direct = await Promise.all(
      READERS.map((reader) =>
        reader.meet(odd).then(
          () => true,
          () => false,
        ),
      ),
    );
    if (!direct.every(Boolean)) continue;
    const { capabilities } = introduced(odd);
    for (const [key, value] of Object.entries(odd)) {
      const own = ["tools", "prompts", "resources"].includes(key)
        ? { ...(value as object), listChanged: true }
        : value;
      if (JSON.stringify(capabilities[key]) !== JSON.stringify(own) && key !== "tasks")
        changed.push(`${name}: ${key}`);
    }
  }
  expect(changed).toEqual([]);
});

test("a malformed name, version or icon of a server does not break hosts", async () => {
  const refused: string[] = [];
  for (const { odd } of ODD_INFOS) {
    refused.push(...(await faults(odd, introduced(WHOLE_CAPABILITIES, odd))));
  }
  expect(refused).toEqual([]);
  expect(introduced({}, { ...WHOLE_INFO, icons: null, title: 5 }).serverInfo).toEqual({
    name: "whole",
    version: "1.0.0",
    description: "all of it",
    websiteUrl: "https://x",
  });
  expect(introduced({}, { name: "whole" }).serverInfo).toEqual(SELF);
});

test("a capability that is only true counts, and does not affect other capabilities", () => {
  expect(introduced({ tools: true, prompts: null, extensions: { a: 1, b: { c: 2 } } }).capabilities).toEqual({
    tools: { listChanged: true },
    extensions: { b: { c: 2 } },
  });
});
