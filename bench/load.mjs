/**
 * Hosts that call as fast as they are answered, and check every answer. Prints `warm` once they are, and for each line
 * it reads one of JSON: what came of calling for `seconds`.
 * `node load.mjs '{"url","era","sessions","seconds","warmSeconds","work","tool"|"tools","bytes","key"}'`
 */
import { createInterface } from "node:readline";
import { openHost } from "./hosts.mjs";

const job = {
  /** `legacy`, `modern`, or `sse` (the transport of 2024-11-05). */
  era: "legacy",
  sessions: 16,
  seconds: 3,
  warmSeconds: 1,
  /** How many calls it takes at least to get warm, within MAX_WARM_MS more. */
  warmCalls: 0,
  /** `echo`, `blob` (answers of `bytes`), `list`, or `ask` (a tool that asks the host something first). */
  work: "echo",
  tool: "echo",
  bytes: 0,
  ...JSON.parse(process.argv[2]),
};
/** Session i calls the tool i, i + tools.length, …: the concurrent calls of one server are exactly this number. */
const tools = job.tools ?? [job.tool];

const asks = job.work === "ask";

const MAX_WARM_MS = 8_000;

let latencies = [];
/** All so far. */
let calls = 0;
let errors = 0;
let firstError;
const fail = (what) => {
  errors += 1;
  firstError ??= what;
};

/** Every session starts with the same ids: an answer that went to the wrong session shows in its text. */
function requestOf(index, id) {
  const text = `${index}/${id}/${"-".repeat(32)}`.slice(0, 32);
  if (job.work === "list") return { text, method: "tools/list", params: {} };
  const name = tools[index % tools.length];
  const args = job.work === "blob" ? { text, bytes: job.bytes } : { text };
  return { text, method: "tools/call", params: { name, arguments: args } };
}

function check(exchange, id, text, index) {
  const { status, body } = exchange;
  if (status !== 200) return fail(`status ${status}: ${exchange.text.slice(0, 500)}`);
  if (body?.length > 65_536) {
    // Large answers: looked at without parsing, so that the generator does not become the bottleneck.
    const enough = job.work === "list" || (body.includes(text) && body.length > job.bytes);
    const whole = body[body.length - 1] === 0x7d && body.includes(`"id":${id}`);
    if (!enough || !whole) fail(`a large answer is not the one asked for: ${body.subarray(0, 200)}`);
    return;
  }
  const { message } = exchange;
  const said = message?.result?.content?.[0]?.text;
  const right = {
    echo: () => said === text,
    blob: () => said?.startsWith(text) && said.length === text.length + job.bytes,
    ask: () => said === `${text} said ${nameOf(index)}`,
    list: () => message?.result?.tools?.length > 0,
  }[job.work]();
  if (message?.id !== id || !right)
    fail(`wrong answer to ${id} ${text}: ${JSON.stringify(message).slice(0, 300)}`);
}

const nameOf = (index) => `host ${index}`;

const lastIds = new Array(job.sessions).fill(0);

/** A call on which the host answers the questions of the server. */
async function answering(host, index, id, method, params) {
  const answer = () => ({ action: "accept", content: { name: nameOf(index) } });
  const { response } = await host.converse(method, params, answer, { id, idOf: () => id });
  return { status: 200, message: response };
}

async function work(host, index, end, record) {
  while (performance.now() < end) {
    lastIds[index] += 1;
    const id = lastIds[index];
    const { text, method, params } = requestOf(index, id);
    const start = performance.now();
    try {
      const exchange = asks
        ? await answering(host, index, id, method, params)
        : await host.exchange(method, params, { id });
      check(exchange, id, text, index);
    } catch (error) {
      fail(error.message);
      return;
    }
    calls += 1;
    if (record) latencies.push(performance.now() - start);
  }
}

/** A hundred at a time: a backlog of connections that overflows waits a second. */
const hosts = [];
while (hosts.length < job.sessions) {
  const some = Array.from({ length: Math.min(100, job.sessions - hosts.length) }, () =>
    openHost(job.url, job.era, { key: job.key, capabilities: asks ? { elicitation: { form: {} } } : {} }),
  );
  hosts.push(...(await Promise.all(some)));
}
const round = async (seconds, record) => {
  const end = performance.now() + seconds * 1000;
  await Promise.all(hosts.map((host, index) => work(host, index, end, record)));
};
await round(job.warmSeconds, false);
for (const start = performance.now(); calls < job.warmCalls && performance.now() - start < MAX_WARM_MS; )
  await round(0.25, false);
process.stdout.write("warm\n");
// Each line requests a round. At the end of them the sessions are closed; until then the idle cost of the other side
// can be measured.
for await (const _ of createInterface({ input: process.stdin })) {
  latencies = [];
  const start = performance.now();
  await round(job.seconds, true);
  const seconds = (performance.now() - start) / 1000;
  latencies.sort((a, b) => a - b);
  const at = (q) => latencies[Math.min(latencies.length - 1, Math.floor(q * latencies.length))] ?? 0;
  const figures = {
    calls: latencies.length,
    seconds,
    perSecond: latencies.length / seconds,
    p50: at(0.5),
    p99: at(0.99),
    max: at(1),
  };
  process.stdout.write(`${JSON.stringify({ ...figures, errors, firstError })}\n`);
  // Not sooner: what went wrong while they got warm counts, too.
  errors = 0;
}
for (const host of hosts) await host.close();
process.exit(0);
