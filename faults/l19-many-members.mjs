/**
 * L19: one server, host or document with very many members, messages or entries: what each of them makes others wait.
 * `npm test` counts the turns of the event loop for the same.
 */
import { writeFileSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { openHost } from "../test/support/host/host.mjs";
import { startGateway } from "./support/gateway.mjs";
import { start } from "./support/processes.mjs";
import { ms, pause, quantile, row } from "./support/row.mjs";
import { stdioServer } from "./support/servers.mjs";
import { startTraffic } from "./support/traffic.mjs";
import { CASES } from "./upstreams/numerous.mjs";

/** What others may have to wait, in ms. */
const AIM = 50;
const NUMEROUS = fileURLToPath(new URL("upstreams/numerous.mjs", import.meta.url));

const many = (count, make) => Array.from({ length: count }, (_, at) => make(at));
const members = (count) => Object.fromEntries(many(count, (at) => [`k${at}`, at]));

async function numerousOver(kind) {
  const program = start(process.execPath, [NUMEROUS, "--http", kind]);
  const url = await new Promise((resolve) =>
    program.child.stdout.once("data", (text) => resolve(String(text).trim())),
  );
  return { url, stop: () => program.stop() };
}

/** A document of 20,000 operations. */
function largeDocument(folder) {
  const operation = (id) => ({
    operationId: id,
    summary: `Does ${id}`,
    parameters: [
      { name: "id", in: "path", required: true, schema: { type: "string" } },
      { name: "limit", in: "query", schema: { type: "integer" } },
    ],
    responses: {
      200: { description: "done", content: { "application/json": { schema: { type: "object" } } } },
    },
  });
  const paths = many(10_000, (at) => [
    `/things${at}/{id}`,
    { get: operation(`get${at}`), delete: operation(`delete${at}`) },
  ]);
  const file = join(folder, "api.json");
  const info = { title: "large", version: "1" };
  writeFileSync(file, JSON.stringify({ openapi: "3.1.0", info, paths: Object.fromEntries(paths) }));
  return { type: "openapi", spec: file, baseUrl: "http://127.0.0.1:9/" };
}

await row("L19", "very many members, messages and entries", async (row) => {
  const [json, sse] = [row.own(await numerousOver("json")), row.own(await numerousOver("sse"))];
  const servers = {
    calm: stdioServer(),
    heavy: stdioServer(),
    pipe: { command: process.execPath, args: [NUMEROUS] },
    json: { type: "http", url: json.url },
    sse: { type: "http", url: sse.url },
  };
  const gateway = row.own(await startGateway({ mcpServers: servers }));
  await gateway.met("calm", "heavy", "pipe", "json", "sse");
  const host = await openHost(gateway.url, "legacy");
  const watcher = await openHost(gateway.url, "modern");
  await watcher.stream({ notifications: { toolsListChanged: true, resourcesListChanged: true } });
  const other = row.own(
    await startTraffic(gateway.url, { tools: ["calm__echo"], rate: 200, eras: ["modern"], hosts: 1 }),
  );
  await other.during(() => pause(3_000));

  /** The latency of another client's calls while `work` runs, and for the time that its consequences take. */
  async function beside(work, afterMs = 300) {
    const { samples, errors, firstError } = await other.during(async () => {
      await work();
      await pause(afterMs);
    });
    if (errors > 0) throw new Error(`calls of another host fail: ${firstError}`);
    return samples.map((sample) => sample.ms);
  }
  const evaluated = (what, waits) =>
    row.timing(
      what,
      `<= ${AIM} ms for others`,
      `${ms(quantile(waits, 0.5))} median, ${ms(Math.max(...waits))} at most`,
      Math.max(...waits) <= AIM,
    );

  const calm = await beside(() => pause(500));
  row.note(
    `without any of it others wait ${ms(quantile(calm, 0.5))} median, ${ms(Math.max(...calm))} at most`,
  );

  const large = largeDocument(row.folder);
  const loaded = await beside(async () => {
    gateway.configure({ mcpServers: { ...servers, large } });
    await gateway.met("large");
  }, 2_000);
  evaluated("a document of 20,000 operations", loaded);

  for (const wire of row.quick ? ["pipe"] : ["pipe", "json", "sse"]) {
    for (const [at, what] of CASES.entries()) {
      const isList = /list|definition/.test(what);
      if (isList && wire !== "pipe") continue;
      const waits = await beside(() => host.call(`${wire}__case${at}`).catch(() => {}), isList ? 3_000 : 300);
      evaluated(`${wire}: ${what}`, waits);
    }
  }
  const listed = await beside(async () => {
    await host.list("tools");
    await host.list("resources");
  });
  evaluated("the long lists, read by a host", listed);

  const post = (body) =>
    new Promise((resolve) => {
      const { session } = host;
      const headers = {
        ...host.headersOf("ping"),
        ...(session !== undefined && { "mcp-session-id": session }),
      };
      const asked = request(gateway.url, { method: "POST", headers }, (response) =>
        response.resume().on("end", resolve).on("error", resolve),
      );
      asked.on("error", resolve).end(JSON.stringify(body));
    });
  const keys = members(150_000);
  const HOSTILE = {
    "arguments of 150,000 members": {
      method: "tools/call",
      params: { name: "heavy__echo", arguments: { text: "x", keys } },
    },
    "parameters of 150,000 members": { method: "tools/call", params: { name: "heavy__echo", ...keys } },
    "metadata of 150,000 members": { method: "ping", params: { _meta: keys } },
    "a response of 150,000 members": { result: keys },
  };
  for (const [what, message] of Object.entries(HOSTILE))
    evaluated(`host: ${what}`, await beside(() => post({ jsonrpc: "2.0", id: what, ...message })));
  const invalid = many(50_000, (id) => ({ jsonrpc: "2.0", id }));
  evaluated("host: 50,000 invalid messages in one batch", await beside(() => post(invalid)));
});
