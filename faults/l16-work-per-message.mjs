/** L16: messages that make the gateway work: what each of them makes others wait. */
import { request } from "node:http";
import { openHost, refusalOf } from "../test/support/host/host.mjs";
import { startGateway } from "./support/gateway.mjs";
import { ms, pause, quantile, row } from "./support/row.mjs";
import { httpProcess, httpServer, stdioServer } from "./support/servers.mjs";
import { startTraffic } from "./support/traffic.mjs";

/** What others may have to wait, in ms. */
const AIM = 50;

const times = (count, make) => Array.from({ length: count }, (_, at) => make(at));
const members = (count) => Object.fromEntries(times(count, (at) => [`k${at}`, at]));
const A100K = "a".repeat(100_000);

/** A server with many tools, each with patterns as large as they may be. */
const PATTERNS = `
const tools = Array.from({ length: 200 }, (_, at) => ({ name: "t" + at, inputSchema: { type: "object", properties:
  Object.fromEntries(Array.from({ length: 5 }, (_, n) => ["a" + n, { type: "string", pattern: "[a-z]{1," + (700 + at) + "}[0-" + n + "]" }])) } }));
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  const result = { initialize: () => ({ protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "p", version: "1" } }),
    "tools/list": () => ({ tools }), "tools/call": () => ({ content: [] }), ping: () => ({}) }[method];
  if (id !== undefined) console.log(JSON.stringify(result ? { jsonrpc: "2.0", id, result: result() } : { jsonrpc: "2.0", id, error: { code: -32601, message: "no" } }));
});`;

const RULES = [
  { when: "args.kind == 'search' && args.l.exists(x, text(args).matches('(a|b)*c'))", effect: "deny" },
  { when: "args.kind == 'compare' && args.l.exists(x, args.a != args.b)", effect: "deny" },
  { when: "args.kind == 'member' && args.l.exists(x, x in args.big)", effect: "deny" },
  { when: "args.kind == 'contains' && args.l.exists(x, args.t.contains(x))", effect: "deny" },
  {
    when: "args.kind == 'paths'",
    effect: "redact",
    redact: { arguments: { paths: ["a.*.b.*.c", "a.*.d", "x.y.z"], patterns: [] } },
  },
  {
    when: "args.kind == 'patterns'",
    effect: "redact",
    redact: { arguments: { paths: [], patterns: ["AKIA[0-9A-Z]{16}|sk-[A-Za-z0-9]{20,}", "(?i)passw"] } },
  },
  { when: "args.kind == 'approve'", effect: "approve", remember: "1m" },
  { resources: ["files+file:///{a,b}*", "*{x,y}*z", "f?les+*?{a,{b,c}}*"], effect: "deny" },
].map((each, at) => ({
  name: `rule-${at}`,
  tools: each.resources === undefined ? ["heavy__*"] : undefined,
  ...each,
}));

/** The kinds of which the rule decides against the caller, as the condition is more work than one may be. */
const DECIDED = new Set(["search", "compare", "member", "contains"]);

/** The tool answers with `text`; whatever else it is given is for the gateway to work on. */
const CASES = [
  [
    "a condition that matches a pattern in each round of a walk",
    { kind: "search", l: times(500, () => 1), t: A100K },
  ],
  [
    "a condition that compares large values in each",
    { kind: "compare", l: times(500, () => 1), a: members(5_000), b: members(5_000) },
  ],
  [
    "a condition that looks for each element in a list",
    { kind: "member", l: times(500, (at) => -1 - at), big: times(15_000, (at) => at) },
  ],
  [
    "a condition that looks for each text in another",
    { kind: "contains", l: times(500, (at) => `${"a".repeat(100)}b${at}`), t: A100K },
  ],
  [
    "redaction by paths, 2.5 MB",
    { kind: "paths", a: times(60_000, (at) => ({ b: [{ c: at }], d: "x", e: 1 })) },
  ],
  ["redaction by patterns, 2.5 MB", { kind: "patterns", a: times(600, () => "lorem sk- AKIA ".repeat(270)) }],
  ["an approval of 150,000 arguments, 2.5 MB", { kind: "approve", ...members(150_000) }],
];

await row("L16", "messages that make the gateway work", async (row) => {
  const gateway = row.own(
    await startGateway({
      mcpServers: {
        heavy: stdioServer(),
        calm: stdioServer(),
        web: httpServer(row.own(await httpProcess())),
        patterns: { command: process.execPath, args: ["-e", PATTERNS], checks: { arguments: true } },
      },
      policy: { rules: RULES },
    }),
  );
  await gateway.met("heavy", "calm", "web", "patterns");
  const hostile = await openHost(gateway.url, "legacy");
  const asking = await openHost(gateway.url, "legacy", { capabilities: { elicitation: {} } });
  const other = row.own(
    await startTraffic(gateway.url, { tools: ["calm__echo"], rate: 100, eras: ["modern"], hosts: 1 }),
  );
  await other.during(() => pause(3_000));

  /**
   * The latency of another client's calls while `work` runs. They come from a separate thread: writing and reading the
   * large messages keeps this one busy for longer than the gateway.
   */
  async function beside(work) {
    const { samples, errors, firstError } = await other.during(async () => {
      await pause(50);
      await work();
    });
    if (errors > 0) throw new Error(`the calls of somebody else fail: ${firstError}`);
    return samples.map((sample) => sample.ms);
  }
  const told = (waits) => `${ms(quantile(waits, 0.5))} median, ${ms(Math.max(...waits))} at most`;
  const evaluated = (what, waits) =>
    row.timing(what, `<= ${AIM} ms for others`, told(waits), Math.max(...waits) <= AIM);

  const calm = await beside(() => pause(500));
  row.note(`without any of it others wait ${told(calm)}`);

  const many = row.quick ? 3 : 10;
  for (const [what, args] of CASES) {
    const refused = [];
    const one = () => {
      if (args.kind !== "approve") return hostile.call("heavy__echo", { text: "x", ...args });
      return new Promise((resolve, reject) => {
        const hear = (message) =>
          message.method === "elicitation/create" && resolve({ message: { asked: true } });
        asking.call("heavy__echo", { text: "x", ...args }, { onMessage: hear }).then(resolve, reject);
      });
    };
    // The first meets code that has never run.
    await one();
    const waits = await beside(async () => {
      const replies = await Promise.all(times(many, one));
      refused.push(...replies.map(({ message }) => refusalOf(message)?.code));
    });
    evaluated(`${many} calls at once: ${what}`, waits);
    if (DECIDED.has(args.kind)) {
      const right = refused.every((code) => code === "denied");
      row.check(`${what}: the rule`, "decides against the caller", [...new Set(refused)].join(), right);
    }
  }

  const uri = await beside(async () => {
    for (let n = 0; n < many; n += 1) {
      await hostile.exchange("resources/read", { uri: `files+file:///c${"abc/{x}?".repeat(480_000)}` });
    }
  });
  evaluated("URIs of 3.9 MB, held against globs", uri);

  const schemas = await beside(() =>
    Promise.all(times(row.quick ? 50 : 200, (at) => hostile.call(`patterns__t${at}`, { a0: "b" }))),
  );
  evaluated("the first calls of 200 tools, with five large patterns each", schemas);

  if (row.quick) return;
  const length = await batchOf(gateway.url, 50, 11_000_000);
  row.check(
    "a batch whose answers are more than 512 MiB together",
    "all of them",
    `${length} bytes`,
    length > 2 ** 29,
  );
});

/** Sends a batch of calls over a session of 2025-03-26, as a host that takes JSON alone; the length of what comes. */
async function batchOf(url, count, bytes) {
  const post = (body, session) =>
    new Promise((resolve, reject) => {
      const headers = {
        "content-type": "application/json",
        accept: "application/json",
        ...(session !== undefined && { "mcp-session-id": session, "mcp-protocol-version": "2025-03-26" }),
      };
      const asked = request(url, { method: "POST", headers }, (response) => {
        let length = 0;
        response.on("data", (chunk) => {
          length += chunk.length;
        });
        response.on("error", reject);
        response.on("end", () => resolve({ length, session: response.headers["mcp-session-id"] }));
      });
      asked.on("error", reject);
      asked.end(JSON.stringify(body));
    });
  const params = {
    protocolVersion: "2025-03-26",
    capabilities: {},
    clientInfo: { name: "faults", version: "1" },
  };
  const { session } = await post({ jsonrpc: "2.0", id: 0, method: "initialize", params });
  const calls = times(count, (at) => ({
    jsonrpc: "2.0",
    id: at + 1,
    method: "tools/call",
    params: { name: "web__blob", arguments: { bytes } },
  }));
  return (await post(calls, session)).length;
}
