/**
 * A steady load in a separate thread, so that the script itself does not slow it down. Each call has a unique text and
 * must get exactly that, once; latencies are in a ledger.
 */
import { Worker } from "node:worker_threads";
import { pause, quantile } from "./row.mjs";

/**
 * @param {string} url of the gateway
 * @param {{ tools: string[], rate?: number, eras?: ("legacy" | "modern")[], hosts?: number,
 *   headers?: object }} options
 */
export async function startTraffic(
  url,
  { tools, rate = 200, eras = ["legacy", "modern"], hosts = 4, headers = {} },
) {
  const worker = new Worker(new URL("traffic-thread.mjs", import.meta.url), {
    workerData: { url, tools, rate, eras, hosts, headers },
  });
  let failed;
  worker.on("error", (error) => {
    failed = error;
  });
  const ask = (job) =>
    new Promise((resolve, reject) => {
      if (failed !== undefined) return reject(failed);
      worker.once("message", resolve);
      worker.postMessage(job);
    });
  await new Promise((resolve, reject) => {
    worker.once("message", resolve);
    worker.once("error", reject);
  });
  const self = {
    /** The calls that were sent since the last window and have their answer. */
    async window(tool) {
      const samples = await ask("window");
      return summary(tool === undefined ? samples : samples.filter((sample) => sample.tool === tool));
    },
    /** All calls sent during `work`, with what came of `work`. */
    async during(work) {
      await ask("window");
      const value = await work();
      await pause(50);
      return { ...(await self.window()), value };
    },
    /** One summary after the other: `count` windows of `eachMs`. */
    async windows(count, eachMs) {
      const all = [];
      for (let n = 0; n < count; n += 1) all.push(await self.during(() => pause(eachMs)));
      return all;
    },
    async stop() {
      await worker.terminate();
    },
  };
  return self;
}

export function summary(samples) {
  const good = samples.filter(({ error }) => error === undefined);
  const latencies = good.map((sample) => sample.ms);
  return {
    samples,
    calls: samples.length,
    errors: samples.length - good.length,
    firstError: samples.find(({ error }) => error !== undefined)?.error,
    /** How often each error came, by its word. */
    errorCounts: countsOf(samples),
    p50: quantile(latencies, 0.5),
    p99: quantile(latencies, 0.99),
    max: quantile(latencies, 1),
    of: (tool) => summary(samples.filter((sample) => sample.tool === tool)),
  };
}

function countsOf(samples) {
  const counts = {};
  for (const { error } of samples) if (error !== undefined) counts[error] = (counts[error] ?? 0) + 1;
  return counts;
}

/**
 * The p99 of several windows: the median of theirs, which one hiccup of the machine does not move. Of a single window
 * it says little: of 500 calls it is the fifth slowest.
 */
export const usualP99 = (windows) =>
  quantile(
    windows.map(({ p99 }) => p99),
    0.5,
  );
