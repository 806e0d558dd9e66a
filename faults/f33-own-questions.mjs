/** F33: 24 hosts of three kinds at one legacy server that asks for roots, a form and a completion: each sees its own. */
import { fileURLToPath } from "node:url";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { Client as Client1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as StdioClientTransport1 } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport as StreamableHTTPClientTransport1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { openRemembering } from "../test/support/servers/remembering.mjs";
import { MAIN, startGateway } from "./support/gateway.mjs";
import { everybody } from "./support/processes.mjs";
import { row } from "./support/row.mjs";

const SERVER = fileURLToPath(new URL("../test/support/servers/remembering.mjs", import.meta.url));
const OF_A_KIND = 8;
/** The two windows of one editor look alike. */
const INFO = { name: "editor", version: "1.0.0" };
const CAPABILITIES = { sampling: {}, elicitation: {}, roots: {} };
const LIMIT = { timeout: 120_000 };

await row(
  "F33",
  "24 hosts (modern HTTP, legacy HTTP, legacy stdio) at one legacy server that keeps roots and asks in each call",
  async (row) => {
    const counts = row.quick ? { http: 10, stdio: 6 } : { http: 100, stdio: 100 };
    for (const [transport, rounds] of Object.entries(counts)) {
      const wrong = [];
      const { calls, questions, seconds, processes } = await atServer(transport, rounds, wrong);
      for (const one of wrong.slice(0, 5)) console.log(JSON.stringify(one));
      row.check(
        `over ${transport}: results with roots, a form or a completion of another host, or without`,
        `0 of ${24 * rounds}`,
        `${wrong.length} of ${calls}`,
        wrong.length === 0 && calls === 24 * rounds,
      );
      row.check(
        `over ${transport}: forms and completions asked at each host`,
        2 * rounds,
        [...new Set(questions)].join(", "),
        questions.every((count) => count === 2 * rounds),
      );
      if (transport === "stdio") row.check("processes of the server", "<= 32", processes, processes <= 32);
      row.note(`over ${transport}: ${rounds} rounds in ${seconds.toFixed(0)} s`);
    }
  },
);

/** Every round all hosts call at once; half of them have never listed. Modern hosts have other roots in the second half. */
async function atServer(transport, rounds, wrong) {
  const server = transport === "http" ? await openRemembering("late") : undefined;
  const entry =
    server === undefined
      ? { command: process.execPath, args: [SERVER, "start"] }
      : { type: "http", url: server.url };
  const gateway = await startGateway({ startupWait: "60s", mcpServers: { it: entry } });
  const hosts = [];
  let processes = 0;
  try {
    for (let index = 0; index < 3 * OF_A_KIND; index += 1) {
      const kind = ["modern", "legacy", "stdio"][index % 3];
      hosts.push(await openHost(kind, `${kind}-${index}`, gateway));
      if (index % 2 === 0) await hosts[index].list();
    }
    const begun = performance.now();
    let calls = 0;
    for (let round = 0; round < rounds; round += 1) {
      if (round === rounds / 2) for (const host of hosts) host.moveOn();
      const label = `round ${round}`;
      const seen = await Promise.all(hosts.map((host) => host.call(label).catch((error) => String(error))));
      for (const [index, result] of seen.entries()) {
        calls += 1;
        const expected = JSON.stringify(hosts[index].expected(label));
        if (result !== expected) wrong.push({ host: hosts[index].name, round, result, expected });
      }
      if (transport === "stdio" && round % 2 === 1) processes = Math.max(processes, processesOf(SERVER));
    }
    const seconds = (performance.now() - begun) / 1_000;
    return { calls, questions: hosts.map(({ asked }) => asked()), seconds, processes };
  } finally {
    for (const host of hosts) await host.close();
    await gateway.stop();
    await server?.stop();
  }
}

function processesOf(script) {
  return everybody().filter(({ command }) => command.includes(script)).length;
}

async function openHost(kind, name, { url, file }) {
  let folder = name;
  let asked = 0;
  const roots = () => ({ roots: [{ uri: `file:///${folder}` }] });
  const elicit = () => {
    asked += 1;
    return { action: "accept", content: { name } };
  };
  const sample = () => {
    asked += 1;
    return { role: "assistant", model: "m", content: { type: "text", text: `of ${name}` } };
  };
  const client =
    kind === "modern" ? modernClient({ roots, elicit, sample }) : legacyClient({ roots, elicit, sample });
  await client.connect(transportOf(kind, url, file));
  const call = (params) =>
    kind === "modern" ? client.callTool(params, LIMIT) : client.callTool(params, undefined, LIMIT);
  return {
    name,
    asked: () => asked,
    list: () => client.listTools(undefined, LIMIT),
    call: async (label) => (await call({ name: "it__all", arguments: { label } })).content[0].text,
    expected: (label) => ({ label, roots: [`file:///${folder}`], name, thought: `of ${name}` }),
    /** A server that keeps roots for a session keeps those of a legacy host. */
    moveOn: () => {
      if (kind === "modern") folder = `${name}/other`;
    },
    close: () => client.close(),
  };
}

function transportOf(kind, url, file) {
  if (kind === "modern") return new StreamableHTTPClientTransport(new URL(url));
  if (kind === "legacy") return new StreamableHTTPClientTransport1(new URL(url));
  return new StdioClientTransport1({
    command: process.execPath,
    args: [MAIN, "stdio", "--config", file],
    env: { ...process.env, XDG_STATE_HOME: `${file}.state` },
    stderr: "ignore",
  });
}

function modernClient({ roots, elicit, sample }) {
  const client = new Client(INFO, {
    capabilities: CAPABILITIES,
    versionNegotiation: { mode: { pin: "2026-07-28" } },
  });
  client.setRequestHandler("roots/list", roots);
  client.setRequestHandler("elicitation/create", elicit);
  client.setRequestHandler("sampling/createMessage", sample);
  return client;
}

function legacyClient({ roots, elicit, sample }) {
  const client = new Client1(INFO, { capabilities: CAPABILITIES });
  client.setRequestHandler(ListRootsRequestSchema, roots);
  client.setRequestHandler(ElicitRequestSchema, elicit);
  client.setRequestHandler(CreateMessageRequestSchema, sample);
  return client;
}
