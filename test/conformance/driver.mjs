#!/usr/bin/env node
import { createHash } from "node:crypto";
/**
 * The client that the suite's client scenarios look at: a host made of the SDK, with the gateway between it and
 * the suite's server.
 *
 *   node driver.mjs --host legacy|modern [--direct] URL
 *
 * The suite says in the environment which scenario it is, and which revision its server speaks.
 */
import { parseArgs } from "node:util";
import { Client, fromJsonSchema, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { parse } from "yaml";
import { startGateway } from "./stage.mjs";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { host: { type: "string", default: "legacy" }, direct: { type: "boolean", default: false } },
});
const [url] = positionals;
const scenario = process.env.MCP_CONFORMANCE_SCENARIO ?? "";
const revision = process.env.MCP_CONFORMANCE_PROTOCOL_VERSION;
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? "{}");

/** Accepts every form without filling it in; the defaults of the form are the SDK's to add. */
const acceptForms = (content) => (client) =>
  client.setRequestHandler("elicitation/create", () => ({ action: "accept", content }));

const anything = fromJsonSchema({ type: "object" });
const listSkills = (client) => client.request({ method: "skills/list", params: {} }, anything);

/** Loads the first skill as a host must (SEP-2640, "Integrity and verification"): what does not fit its entry is not used. */
async function loadSkill(client) {
  const [skill] = (await listSkills(client)).skills;
  for (const { uri, digest, size } of skill.resources) {
    const [{ text }] = (await client.readResource({ uri })).contents;
    const isWhole = Buffer.byteLength(text) === size;
    if (!isWhole || digest !== `sha256:${createHash("sha256").update(text).digest("hex")}`)
      throw new Error(`${uri} is not what its skill lists`);
    if (uri !== skill.uri) continue;
    const frontmatter = parse(/^---\n(.*?)\n---/s.exec(text)?.[1] ?? "");
    const isSame = Object.entries(skill.frontmatter).every(([key, value]) => frontmatter[key] === value);
    if (!isSame) throw new Error(`${uri} has another frontmatter than its skill`);
  }
}

/** What a host does in each scenario; where nothing is said here, it lists the tools. */
const SCENARIOS = {
  tools_call: {
    act: async (client) => {
      await client.listTools();
      await client.callTool({ name: "add_numbers", arguments: { a: 5, b: 3 } });
    },
  },
  "request-metadata": {
    capabilities: { roots: { listChanged: true }, sampling: {}, elicitation: {} },
    prepare: (client) => {
      acceptForms({})(client);
      client.setRequestHandler("roots/list", () => ({ roots: [] }));
      client.setRequestHandler("sampling/createMessage", () => ({
        role: "assistant",
        model: "none",
        content: { type: "text", text: "nothing" },
      }));
    },
  },
  "elicitation-sep1034-client-defaults": {
    capabilities: { elicitation: { form: { applyDefaults: true } } },
    prepare: acceptForms({}),
    act: async (client) => {
      await client.listTools();
      await client.callTool({ name: "test_client_elicitation_defaults", arguments: {} });
    },
  },
  "sse-retry": {
    act: async (client) => {
      await client.listTools();
      await client.callTool({ name: "test_reconnection", arguments: {} });
    },
  },
  "http-standard-headers": {
    act: async (client) => {
      const { tools } = await client.listTools();
      const { resources } = await client.listResources();
      const { prompts } = await client.listPrompts();
      for (const { name } of tools) await client.callTool({ name, arguments: {} });
      for (const { uri } of resources) await client.readResource({ uri });
      for (const { name } of prompts) await client.getPrompt({ name, arguments: {} });
    },
  },
  "http-custom-headers": {
    act: async (client) => {
      await client.listTools();
      for (const { name, arguments: args } of context.toolCalls ?? []) {
        await client.callTool({ name, arguments: args });
      }
    },
  },
  "http-invalid-tool-headers": {
    act: async (client) => {
      const { tools } = await client.listTools();
      for (const { name } of tools) await client.callTool({ name, arguments: { region: "us-west1" } });
    },
  },
  "sep-2322-client-request-state": {
    capabilities: { elicitation: {} },
    prepare: acceptForms({ confirmed: true }),
    act: async (client) => {
      for (const name of ["test_mrtr_echo_state", "test_mrtr_no_state", "test_mrtr_unrelated"]) {
        await client.callTool({ name, arguments: {} });
      }
      // A result without a type is one that a modern client may refuse; what counts is that it does not ask again.
      await client.callTool({ name: "test_mrtr_no_result_type", arguments: {} }).catch(() => {});
    },
  },
  "sep-2640-client-no-prefetch": { act: listSkills },
  "sep-2640-client-verify-digest": { act: loadSkill },
  "sep-2640-client-verify-size": { act: loadSkill },
  "sep-2640-client-verify-frontmatter": { act: loadSkill },
  "json-schema-2020-12-preservation": {
    act: async (client) => {
      const { tools } = await client.listTools();
      const { inputSchema } = tools.find(({ name }) => name === "json_schema_2020_12_tool");
      await client.callTool({ name: "json_schema_echo", arguments: { schema: inputSchema } });
    },
  },
};

async function play(endpoint) {
  const { capabilities = {}, prepare, act = (client) => client.listTools() } = SCENARIOS[scenario] ?? {};
  const mode = values.host === "modern" ? "auto" : "legacy";
  const client = new Client(
    { name: "cardea-conformance-host", version: "1.0.0" },
    { capabilities, versionNegotiation: { mode } },
  );
  prepare?.(client);
  await client.connect(new StreamableHTTPClientTransport(new URL(endpoint)));
  try {
    await act(client);
  } finally {
    await client.close();
  }
}

if (values.direct) {
  await play(url);
} else {
  const protocol = revision === "2026-07-28" ? "modern" : "legacy";
  const gateway = await startGateway({ url, protocol }, { others: false });
  try {
    await play(gateway.url);
  } catch (error) {
    console.error(gateway.stderr());
    throw error;
  } finally {
    await gateway.stop();
  }
}
