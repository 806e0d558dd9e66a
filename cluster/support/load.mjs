/** Load of both eras in a thread of its own: what was sent, what was answered, and what became of the rest. */
import { Worker } from "node:worker_threads";
import { quantile } from "../../faults/support/row.mjs";

/**
 * @param {string} url of the balancer
 * @param {object} options `legacy`, `modern`: how many hosts of each era; `sdk`: those of the SDKs, too; `rate` per second; `thinkMs`: how
 *   long a user thinks; `follows`: every host follows the pages; `servers`; `kinds`: of calls, by turns; `name`: what keys begin with; `headers`: of all hosts
 */
export async function startLoad(url, options = {}) {
  const defaults = {
    legacy: 6,
    modern: 6,
    sdk: true,
    rate: 60,
    thinkMs: 150,
    follows: true,
    servers: ["old", "new"],
    name: "a",
  };
  const worker = new Worker(new URL("load-thread.mjs", import.meta.url), {
    workerData: { url, ...defaults, ...options },
  });
  let failed;
  worker.on("error", (error) => {
    failed = error;
  });
  const next = () => {
    if (failed !== undefined) return Promise.reject(failed);
    return new Promise((resolve, reject) => {
      const settle = (end) => (value) => {
        worker.off("message", heard);
        worker.off("error", broken);
        end(value);
      };
      const [heard, broken] = [settle(resolve), settle(reject)];
      worker.on("message", heard);
      worker.on("error", broken);
    });
  };
  const ask = async (job, rest = {}) => {
    const answer = next();
    worker.postMessage({ job, ...rest });
    return answer;
  };
  await next();
  const all = [];
  return {
    async window() {
      const some = await ask("window");
      all.push(...some);
      return tally(some);
    },
    heard: () => ask("heard"),
    sessions: () => ask("sessions"),
    /** Ends the load; resolves to the tally of all calls since its start. */
    async finish(limitMs = 60_000) {
      all.push(...(await ask("finish", { limitMs })));
      return tally(all);
    },
    stop: () => worker.terminate(),
  };
}

/** The clock of the samples, in ms. */
export const now = () => performance.timeOrigin + performance.now();

/** Counts of samples. `errors` by word; `within(from, to)`: those that were under way at some time between. */
export function tally(samples) {
  const failed = samples.filter(({ error }) => error !== undefined);
  const errors = {};
  for (const { error } of failed) errors[error] = (errors[error] ?? 0) + 1;
  const asked = samples.filter(({ kind }) => kind === "ask");
  return {
    samples,
    failed,
    errors,
    sent: samples.length,
    answered: samples.length - failed.length,
    asked: asked.length,
    answerErrors: samples.filter(({ answerError }) => answerError !== undefined),
    /** Sessions for which a host got 404. */
    lost: new Set(failed.filter(({ error }) => error === "HTTP 404").map(({ host }) => host)).size,
    within: (from, to) => tally(samples.filter(({ at, end }) => at <= to && end >= from)),
    since: (from) => tally(samples.filter(({ at }) => at >= from)),
    p50: quantile(
      samples.map(({ at, end }) => end - at),
      0.5,
    ),
    p99: quantile(
      samples.map(({ at, end }) => end - at),
      0.99,
    ),
  };
}

const KINDS_SHOWN = 6;

/** Errors and how many there are of each, the most frequent first. */
export function words(errors) {
  const all = Object.entries(errors).toSorted(([, a], [, b]) => b - a);
  const shown = all.slice(0, KINDS_SHOWN).map(([word, count]) => `${count} × ${word}`);
  const more = all.length > KINDS_SHOWN ? [`${all.length - KINDS_SHOWN} more kinds`] : [];
  return [...shown, ...more].join(", ") || "none";
}
