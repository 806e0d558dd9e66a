/**
 * The thread of load.mjs: hosts that call, answer questions, receive progress and follow a page, and record all of it.
 */
import { parentPort, workerData } from "node:worker_threads";
import { newAgent, openHost, refusalOf, textOf } from "../../test/support/host/host.mjs";
import { follow } from "./followers.mjs";
import { openSdkHosts } from "./sdk-hosts.mjs";

const { url, legacy, modern, sdk, rate, thinkMs, follows, servers, name, headers } = workerData;
const PAGE = { old: "old+ledger://page", new: "new+ledger://page" };

// Like a host that knows what the balancer keeps open: connections that idle are closed by this side.
const agent = newAgent({ timeout: 4_000 });
const capabilities = { elicitation: { form: {} } };
const open = async (era, count) =>
  Promise.all(
    Array.from({ length: count }, () =>
      openHost(url, era, { agent, capabilities, ...(headers && { headers }) }),
    ),
  );
const hosts = [...(await open("legacy", legacy)), ...(await open("modern", modern))];
const sdkHosts = sdk ? await openSdkHosts(url) : [];
const followers = follows ? hosts.map((host) => follow(host, PAGE)) : [];

const now = () => performance.timeOrigin + performance.now();
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
let samples = [];
const underWay = new Set();
let sent = 0;

/** What went wrong: the word of a refusal, else the status, else the code of the connection. */
function wordOf({ message, status, text }) {
  // Of a session that is unknown: whatever the body says.
  if (status === 404) return "HTTP 404";
  // A request that could not be forwarded was not read: its error names no id.
  const refusal = refusalOf(message) ?? refusalOf(parsed(text));
  if (refusal !== undefined) return refusal.code;
  if (message !== undefined) return `message ${JSON.stringify(message).slice(0, 200)}`;
  return `HTTP ${status}${text === "" ? "" : ` ${text.slice(0, 80).replaceAll("\n", " ")}`}`;
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // a page of the balancer
  }
}

/** How long a host tries to bring an answer where it gets 503 with `Retry-After`, in ms. */
const ANSWER_MS = 30_000;

/** One answer of the user, after a moment. A post that fails is a failure of its own. */
function answerer(host, sample) {
  return async (question) => {
    sample.asked = (sample.asked ?? 0) + 1;
    await pause(thinkMs);
    const result = { action: "accept", content: { name: "ann" } };
    if (host.era === "modern") return result;
    const end = performance.now() + ANSWER_MS;
    for (;;) {
      try {
        await host.wire.post({ jsonrpc: "2.0", id: question.id, result });
        return result;
      } catch (error) {
        if (error.status !== 503 || performance.now() > end) {
          sample.answerError =
            error.status === undefined ? (error.code ?? error.message) : `HTTP ${error.status}`;
          return result;
        }
        await pause(1_000);
      }
    }
  };
}

/** Calls `ask` and answers; resolves to the exchange that ended it. */
async function askedCall(host, tool, args, sample) {
  const answer = answerer(host, sample);
  const onMessage = (message) =>
    message.id !== undefined && message.method !== undefined && void answer(message);
  let params = { name: tool, arguments: args };
  for (;;) {
    const exchange = await host.exchange("tools/call", params, { onMessage });
    const { resultType, inputRequests, requestState } = exchange.message?.result ?? {};
    if (resultType !== "input_required") return exchange;
    const answers = await Promise.all(
      Object.entries(inputRequests).map(async ([key, one]) => [key, await answer(one)]),
    );
    params = {
      ...params,
      inputResponses: Object.fromEntries(answers),
      ...(requestState !== undefined && { requestState }),
    };
  }
}

const KINDS = ["run", "slow", "ask", "run", "progress", "list", "run", "slow", "run", "ask"];
const STEPS = 3;

const calls = {
  run: (host, server, key) => host.call(`${server}__run`, { key }),
  slow: (host, server, key) => host.call(`${server}__slow`, { key, ms: 300 }),
  ask: (host, server, key, sample) => askedCall(host, `${server}__ask`, { key }, sample),
  async progress(host, server, key, sample) {
    sample.heard = 0;
    const onMessage = ({ method }) => {
      if (method === "notifications/progress") sample.heard += 1;
    };
    const params = { key, steps: STEPS, everyMs: 60 };
    return host.call(`${server}__progress`, params, { meta: { progressToken: key }, onMessage });
  },
  list: (host) => host.exchange("tools/list", {}),
};

async function once() {
  const n = sent;
  sent += 1;
  const kind = workerData.kinds?.[n % workerData.kinds.length] ?? KINDS[n % KINDS.length];
  const at = n % hosts.length;
  const host = hosts[at];
  const server = servers[Math.floor(n / 3) % servers.length];
  const key = `${name}-${n}`;
  const sample = { key, kind, era: host.era, host: at, session: host.session, at: now() };
  underWay.add(sample);
  try {
    const exchange = await calls[kind](host, server, key, sample);
    const good =
      kind === "list"
        ? exchange.message?.result?.tools?.length > 0
        : textOf(exchange.message)?.startsWith(key);
    sample.status = exchange.status;
    if (exchange.answers !== 1 || !good) {
      sample.error = wordOf(exchange);
      sample.detail = JSON.stringify(exchange.message ?? exchange.text).slice(0, 300);
    }
  } catch (error) {
    sample.error = `${error.status === undefined ? (error.code ?? error.message) : `HTTP ${error.status}`}`;
  }
  finished(sample);
}

/** The SDKs put the body of a response into their message. */
function sdkWordOf({ name, message, cause }) {
  if (message.includes("no such session")) return "HTTP 404";
  const [refusal] = /(?<="code":")[a-z_]+/.exec(message) ?? [];
  return refusal ?? cause?.code ?? `${name}: ${message.slice(0, 60)}`;
}

/** A call of an SDK host. */
async function sdkOnce(host, n) {
  const key = `${name}-${host.name}-${n}`;
  const sample = { key, kind: "run", era: host.era, host: host.name, at: now() };
  underWay.add(sample);
  try {
    const text = await host.call(`${servers[n % servers.length]}__run`, { key });
    if (!text.startsWith(key)) sample.error = text.slice(0, 160);
  } catch (error) {
    sample.error = sdkWordOf(error);
  }
  finished(sample);
}

function finished(sample) {
  sample.end = now();
  underWay.delete(sample);
  samples.push(sample);
}

const begun = performance.now();
const timer = setInterval(() => {
  const due = Math.min(((performance.now() - begun) / 1000) * rate, sent + rate / 10 + 1);
  setImmediate(() => {
    while (sent < due) void once();
  });
}, 5);
let sdkSent = 0;
const sdkTimer = setInterval(() => {
  for (const host of sdkHosts) void sdkOnce(host, sdkSent);
  sdkSent += 1;
}, 400);

const jobs = {
  /** What has ended since the last time. */
  window() {
    const ended = samples;
    samples = [];
    return ended;
  },
  heard: () => followers.map(({ updates, opened }) => ({ updates, opened })),
  sessions: () => hosts.map(({ session }) => session).filter((id) => id !== undefined),
  /** Sends no more; resolves when all have an answer, or after `limitMs`: the rest never got one. */
  async finish({ limitMs }) {
    clearInterval(timer);
    clearInterval(sdkTimer);
    const end = performance.now() + limitMs;
    while (underWay.size > 0 && performance.now() < end) await pause(20);
    for (const sample of [...underWay]) {
      const { kind, answerError } = sample;
      const error = `no answer to ${kind}${answerError === undefined ? "" : `, whose answer got ${answerError}`}`;
      finished({ ...sample, error });
    }
    return jobs.window();
  },
};
parentPort.on("message", async ({ job, ...rest }) => parentPort.postMessage(await jobs[job](rest)));
parentPort.postMessage("open");
