/** The thread of traffic.mjs. */
import { parentPort, workerData } from "node:worker_threads";
import { newAgent, openHost, refusalOf, textOf } from "../../test/support/host/host.mjs";

const { url, tools, rate, eras, hosts, headers } = workerData;
// The gateway promises 5 s to an idle connection. Like other hosts, this one does not use it in its last moment.
const agent = newAgent({ timeout: 4_000 });
const open = await Promise.all(
  eras.flatMap((era) => Array.from({ length: hosts }, () => openHost(url, era, { agent, headers }))),
);

let finished = [];
let sent = 0;

async function once() {
  const n = sent;
  sent += 1;
  const tool = tools[n % tools.length];
  const host = open[Math.floor(n / tools.length) % open.length];
  const text = `${n} ${"-".repeat(32)}`;
  const at = performance.now();
  const sample = { tool, at, era: host.era, ms: 0 };
  try {
    const { message, answers } = await host.call(tool, { text });
    if (answers !== 1) sample.error = `${answers} answers`;
    else if (textOf(message) !== text) {
      sample.error = refusalOf(message)?.code ?? JSON.stringify(message ?? null).slice(0, 200);
      sample.words = textOf(message) ?? message?.error?.message;
    }
  } catch (error) {
    sample.error = `${error.code ?? error.message} ${error.reused ? "on a kept connection" : "on a new connection"}`;
  }
  sample.ms = performance.now() - at;
  finished.push(sample);
}

const begun = performance.now();
setInterval(() => {
  // As many as are due by now, so that a late timer does not thin the load out.
  const due = Math.min(((performance.now() - begun) / 1000) * rate, sent + rate / 10);
  // Behind the input: a connection that was closed while this thread was suspended is known as such by then.
  setImmediate(() => {
    while (sent < due) void once();
  });
}, 2);

parentPort.on("message", () => {
  parentPort.postMessage(finished);
  finished = [];
});
parentPort.postMessage("open");
