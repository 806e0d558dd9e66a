/**
 * A load generator that speaks raw HTTP to an MCP endpoint and checks every answer. Prints one JSON line.
 * `node load.mjs '{"url","era","sessions","seconds","warmSeconds","work":"echo|blob|list","tool","bytes"}'`
 */
import { connect } from "node:net";

const job = {
  era: "legacy",
  sessions: 16,
  seconds: 3,
  warmSeconds: 1,
  work: "echo",
  tool: "echo",
  bytes: 0,
  ...JSON.parse(process.argv[2]),
};
const { hostname, port, pathname } = new URL(job.url);
const META = "io.modelcontextprotocol/";
const modernMeta = {
  [`${META}protocolVersion`]: "2026-07-28",
  [`${META}clientInfo`]: { name: "bench", version: "1" },
  [`${META}clientCapabilities`]: {},
};

/** One keep-alive connection; one request at a time. */
class Connection {
  #socket = connect({ host: hostname, port: Number(port), noDelay: true });
  #chunks = [];
  #size = 0;
  #need = -1;
  #resolve;
  #reject;
  constructor() {
    this.#socket.on("data", (chunk) => this.#take(chunk));
    const gone = (why) => this.#reject?.(new Error(`connection ${why}`));
    this.#socket.on("error", (error) => gone(error.message));
    this.#socket.on("close", () => gone("closed"));
  }
  /** Sends one POST and resolves to `{ status, head, body }`. */
  send(body, headers) {
    const text = `POST ${pathname} HTTP/1.1\r\nhost: ${hostname}:${port}\r\ncontent-type: application/json\r\naccept: application/json, text/event-stream\r\ncontent-length: ${Buffer.byteLength(body)}\r\n${headers}\r\n${body}`;
    return new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
      this.#socket.write(text);
    });
  }
  end() {
    this.#reject = undefined;
    this.#socket.destroy();
  }
  #head;
  #take(chunk) {
    this.#chunks.push(chunk);
    this.#size += chunk.length;
    if (this.#need < 0) {
      const all = this.#chunks.length === 1 ? chunk : Buffer.concat(this.#chunks);
      this.#chunks = [all];
      const at = all.indexOf("\r\n\r\n");
      if (at < 0) return;
      this.#head = all.latin1Slice(0, at);
      const length = /\r\ncontent-length: *(\d+)/i.exec(this.#head);
      if (length === null && !/^HTTP\/1.1 202/.test(this.#head)) {
        return this.#reject(new Error(`no content-length in ${this.#head}`));
      }
      this.#need = at + 4 + Number(length?.[1] ?? 0);
    }
    if (this.#size < this.#need) return;
    const all = this.#chunks.length === 1 ? this.#chunks[0] : Buffer.concat(this.#chunks);
    const body = all.subarray(this.#head.length + 4, this.#need);
    this.#chunks = [];
    this.#size = 0;
    this.#need = -1;
    const resolve = this.#resolve;
    this.#reject = undefined;
    resolve({ status: Number(this.#head.slice(9, 12)), head: this.#head, body });
  }
}

const latencies = [];
let errors = 0;
let firstError;
const fail = (what) => {
  errors += 1;
  firstError ??= what;
};

async function open(index) {
  const connection = new Connection();
  if (job.era === "modern") return { connection, headers: "mcp-protocol-version: 2026-07-28\r\n", index };
  const initialize = JSON.stringify({
    jsonrpc: "2.0",
    id: 0,
    method: "initialize",
    params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "bench", version: "1" } },
  });
  const { head } = await connection.send(initialize, "");
  const session = /\r\nmcp-session-id: *([^\r]+)/i.exec(head)?.[1];
  const headers = `${session === undefined ? "" : `mcp-session-id: ${session}\r\n`}mcp-protocol-version: 2025-11-25\r\n`;
  await connection.send('{"jsonrpc":"2.0","method":"notifications/initialized"}', headers);
  return { connection, headers, index };
}

/** Every session starts with the same ids: an answer that went to the wrong session shows in its text. */
function requestOf(session, id) {
  const text = `${session.index}/${id}/${"-".repeat(32)}`.slice(0, 32);
  const list = job.work === "list";
  const method = list ? "tools/list" : "tools/call";
  const params = list
    ? {}
    : { name: job.tool, arguments: { text, ...(job.work === "blob" ? { bytes: job.bytes } : {}) } };
  if (job.era === "modern") params._meta = modernMeta;
  const name = list ? "" : `mcp-name: ${job.tool}\r\n`;
  const headers =
    job.era === "modern" ? `${session.headers}mcp-method: ${method}\r\n${name}` : session.headers;
  return { text, body: JSON.stringify({ jsonrpc: "2.0", id, method, params }), headers };
}

function check({ status, body }, id, text) {
  if (status !== 200) return fail(`status ${status}: ${body}`);
  if (body.length > 65_536) {
    // Large answers: looked at without parsing, so that the generator does not become the bottleneck.
    const enough = job.work === "list" || (body.includes(text) && body.length > job.bytes);
    if (!enough || !body.includes(`"id":${id}`)) fail("a large answer is not the one asked for");
    return;
  }
  const message = JSON.parse(body);
  const right =
    job.work === "list"
      ? message.result?.tools?.length > 0
      : message.result?.content?.[0]?.text?.startsWith(text);
  if (message.id !== id || !right) fail(`wrong answer to ${id} ${text}: ${body.toString().slice(0, 200)}`);
}

async function work(session, until, record) {
  for (let id = 1; performance.now() < until(); id += 1) {
    const { text, body, headers } = requestOf(session, id);
    const start = performance.now();
    try {
      check(await session.connection.send(body, headers), id, text);
    } catch (error) {
      fail(error.message);
      return;
    }
    if (record) latencies.push(performance.now() - start);
  }
}

const sessions = await Promise.all(Array.from({ length: job.sessions }, (_, index) => open(index)));
const round = async (seconds, record) => {
  const end = performance.now() + seconds * 1000;
  await Promise.all(sessions.map((session) => work(session, () => end, record)));
};
await round(job.warmSeconds, false);
process.stdout.write("warm\n");
const start = performance.now();
await round(job.seconds, true);
const seconds = (performance.now() - start) / 1000;
for (const { connection } of sessions) connection.end();
latencies.sort((a, b) => a - b);
const at = (q) => latencies[Math.min(latencies.length - 1, Math.floor(q * latencies.length))] ?? 0;
process.stdout.write(
  `${JSON.stringify({ calls: latencies.length, seconds, perSecond: latencies.length / seconds, p50: at(0.5), p99: at(0.99), errors, firstError })}\n`,
);
