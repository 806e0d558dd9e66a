/** A real Prometheus (Debian's) that scrapes one gateway with the shipped alert rules. */
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { freePort } from "../../cluster/support/debian.mjs";
import { start } from "./processes.mjs";
import { until } from "./row.mjs";

const PROGRAM = "/usr/bin/prometheus";
const RULES = fileURLToPath(new URL("../../dashboards/prometheus/cardea.rules.yml", import.meta.url));

/** Whether there is one on this machine. */
export const hasPrometheus = () => existsSync(PROGRAM);

/**
 * @param {string} folder for its config and data
 * @param {string} target origin of the admin listener
 * @param {number} seconds between two scrapes, and between two evaluations
 */
export async function startPrometheus(folder, target, seconds) {
  const port = await freePort();
  const file = join(folder, "prometheus.yml");
  mkdirSync(folder, { recursive: true });
  const { host } = new URL(target);
  writeFileSync(
    file,
    `global: { scrape_interval: ${seconds}s, evaluation_interval: ${seconds}s }
rule_files: [${JSON.stringify(RULES)}]
scrape_configs: [{ job_name: cardea, static_configs: [{ targets: ["${host}"] }] }]
`,
  );
  const program = start("nice", [
    "-n",
    "10",
    PROGRAM,
    `--config.file=${file}`,
    `--storage.tsdb.path=${join(folder, "data")}`,
    `--web.listen-address=127.0.0.1:${port}`,
  ]);
  const origin = `http://127.0.0.1:${port}`;
  const ask = async (path) => {
    const response = await fetch(`${origin}${path}`, { signal: AbortSignal.timeout(30_000) });
    const { status, error, data } = await response.json();
    if (status !== "success") throw new Error(`${path}: ${error}`);
    return data;
  };
  await until(
    "a scrape",
    async () => {
      if (program.exit !== undefined) throw new Error(`prometheus ended and said:\n${program.stderr}`);
      const data = await ask("/api/v1/query?query=cardea_build_info").catch(() => undefined);
      return data !== undefined && data.result.length > 0;
    },
    60_000 + seconds * 2_000,
    200,
  );
  return {
    /** The alerts of now: `{ name, server, state }`. */
    async alerts() {
      const { alerts } = await ask("/api/v1/alerts");
      return alerts.map(({ labels, state }) => ({ name: labels.alertname, server: labels.server, state }));
    },
    /** Each alert that was pending or firing since `from` (seconds since 1970), with its first and last evaluation. */
    async history(from, to) {
      const range = `start=${from}&end=${to}&step=${seconds}`;
      const { result } = await ask(`/api/v1/query_range?query=ALERTS&${range}`);
      return result.map(({ metric, values }) => ({
        name: metric.alertname,
        server: metric.server,
        labels: metric,
        state: metric.alertstate,
        first: values[0][0],
        last: values.at(-1)[0],
        evaluations: values.length,
      }));
    },
    /** Rules that cannot be evaluated. */
    async broken() {
      const { groups } = await ask("/api/v1/rules");
      return groups
        .flatMap(({ rules }) => rules.filter(({ health }) => health !== "ok"))
        .map(({ name }) => name);
    },
    /** Number of scrapes since `from`, and of those that failed. */
    async scrapes(from, to) {
      const { result } = await ask(`/api/v1/query?query=up[${Math.ceil(to - from)}s]&time=${to}`);
      const values = result.flatMap((series) => series.values.map(([, value]) => value));
      return { all: values.length, failed: values.filter((value) => value !== "1").length };
    },
    stop: () => program.stop(),
  };
}
