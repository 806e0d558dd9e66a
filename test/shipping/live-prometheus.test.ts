/** The dashboards and the alerts, asked of a real Prometheus that has scraped a gateway with traffic: Debian's, where it is installed. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { inRepository, type Serving, serve } from "../support/cardea.js";
import { type Fixture, startFixture } from "../support/fixture.js";
import { Host } from "../support/host/host.mjs";
import { type Started, start } from "../support/processes.js";
import { freePort } from "../support/told-port.js";
import { until } from "../support/until.js";
import { namesIn } from "./promql.js";

const PROGRAM = "/usr/bin/prometheus";
if (!existsSync(PROGRAM))
  console.warn("NOT RUN: the tests with Prometheus; install it with apt-get install prometheus");

interface Panel {
  readonly title: string;
  readonly targets?: readonly { readonly expr: string }[];
}
const names = readdirSync(inRepository("dashboards/grafana"));
const queries = names.flatMap((name) => {
  const { panels } = JSON.parse(readFileSync(inRepository(`dashboards/grafana/${name}`), "utf8")) as {
    panels: readonly Panel[];
  };
  return panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr }) => ({ where: `${name}: ${title}`, expr: chosen(expr) })),
  );
});

/** As Grafana sends it where everything is chosen. */
function chosen(expression: string): string {
  return expression.replace(/\$(?:job|instance|server|tool)\b/g, ".*").replaceAll("$__rate_interval", "1m");
}

describe.runIf(existsSync(PROGRAM))("a Prometheus that scrapes a gateway", () => {
  const folder = mkdtempSync(join(tmpdir(), "cardea-prometheus-"));
  let fixture: Fixture;
  let gateway: Serving;
  let prometheus: Started | undefined;
  let origin: string;

  beforeAll(async () => {
    fixture = await startFixture("modern", "http");
    gateway = await serve({
      mcpServers: { one: fixture.entry },
      audit: { file: join(folder, "audit.jsonl") },
      policy: { rules: [{ name: "no-work", tools: ["one__work"], effect: "deny" }] },
      limits: [{ name: "few", tools: ["one__echo"], rate: "1/min" }],
    });
    await makeCalls();
    await startPrometheus();
  });
  afterAll(async () => {
    await prometheus?.stop();
    await gateway.stop();
    await fixture.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  async function makeCalls(): Promise<void> {
    const capabilities = { elicitation: { form: {} } };
    const host = new Host(gateway.url, "modern", { agent: false, capabilities });
    await host.call("one__work");
    for (let at = 0; at < 3; at += 1) await host.call("one__echo", { value: "x" });
    const asking = { name: "one__test_input_required_result_elicitation", arguments: {} };
    await host.converse("tools/call", asking, () => ({ action: "accept", content: { name: "ann" } }));
  }

  async function startPrometheus(): Promise<void> {
    const port = await freePort();
    const { host } = new URL(gateway.admin);
    writeFileSync(
      join(folder, "prometheus.yml"),
      `global: { scrape_interval: 200ms, evaluation_interval: 200ms }
rule_files: [${JSON.stringify(inRepository("dashboards/prometheus/cardea.rules.yml"))}]
scrape_configs: [{ job_name: cardea, static_configs: [{ targets: ["${host}"] }] }]
`,
    );
    prometheus = start(PROGRAM, [
      `--config.file=${join(folder, "prometheus.yml")}`,
      `--storage.tsdb.path=${join(folder, "data")}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ]);
    origin = `http://127.0.0.1:${port}`;
    // A rate needs two samples, and the second one more calls.
    await until("two scrapes", async () => {
      const [first] = await ask("count_over_time(cardea_build_info[1m])").catch(() => []);
      return Number(first?.value[1] ?? 0) >= 2;
    });
    await makeCalls();
    // The question is the last call; a scrape before its end lacks series.
    await until("the question", async () => {
      const found = await ask("cardea_input_wait_seconds_count");
      return found.length > 0;
    });
    await until("a rate", async () => {
      const [first] = await ask("sum(rate(cardea_requests_total[1m]))").catch(() => []);
      return Number(first?.value[1] ?? 0) > 0;
    });
  }

  /** @throws Error with what Prometheus says of the expression */
  async function ask(expression: string): Promise<readonly { readonly value: readonly [number, string] }[]> {
    const answer = await fetch(`${origin}/api/v1/query?query=${encodeURIComponent(expression)}`);
    const { status, error, data } = (await answer.json()) as {
      status: string;
      error?: string;
      data: { result: { value: [number, string] }[] };
    };
    if (status !== "success") throw new Error(`${expression}: ${error}`);
    return data.result;
  }

  /** Whether everything that an expression names has been scraped. */
  async function seriesOf(expression: string): Promise<boolean> {
    const found = namesIn(expression).selectors.map(({ metric, matchers }) => {
      // The only thing asked of an empty value is that there is another.
      const written = matchers.map(({ label, values }) =>
        values.join("") === "" ? `${label}!=""` : `${label}=~"${values.join("|")}"`,
      );
      return ask(`${metric}{${written.join(",")}}`);
    });
    return (await Promise.all(found)).every((series) => series.length > 0);
  }

  test("understands every query of the dashboards, and has an answer wherever there was traffic", async () => {
    // Between two questions a scrape may end, or be late and make each series stale: such a moment passes, a wrong query does not.
    await expect
      .poll(async () => (await answersOf()).filter(({ hasSeries, isAnswered }) => hasSeries && !isAnswered))
      .toEqual([]);
    const withTraffic = async (): Promise<number> =>
      (await answersOf()).filter(({ hasSeries }) => hasSeries).length;
    await expect.poll(withTraffic).toBeGreaterThan(queries.length / 2);
  });

  function answersOf(): Promise<{ where: string; isAnswered: boolean; hasSeries: boolean }[]> {
    const asked = queries.map(async ({ where, expr }) => {
      const [found, hasSeries] = await Promise.all([ask(expr), seriesOf(expr)]);
      return { where, isAnswered: found.length > 0, hasSeries };
    });
    return Promise.all(asked);
  }

  test("shows what the traffic was", async () => {
    // A scrape may have seen a part of it.
    const sum = async (expression: string): Promise<number> => Number((await ask(expression))[0]?.value[1]);
    await expect.poll(() => sum('sum(cardea_requests_total{outcome="denied"})')).toBe(2);
    await expect.poll(() => sum("sum(cardea_rate_limited_total)")).toBe(5);
    await expect.poll(() => sum("sum(cardea_input_wait_seconds_count)")).toBe(2);
  });

  test("loads every alert, and none of them fires at a gateway that is well", async () => {
    const rules = async () =>
      (await (await fetch(`${origin}/api/v1/rules`)).json()) as {
        data: { groups: { rules: { name: string; health: string; state: string }[] }[] };
      };
    const all = await until("every rule to be looked at", async () => {
      const found = (await rules()).data.groups.flatMap((group) => group.rules);
      return found.length > 0 && found.every(({ health }) => health !== "unknown") ? found : undefined;
    });
    expect(all.filter(({ health }) => health !== "ok")).toEqual([]);
    expect(all.filter(({ state }) => state === "firing")).toEqual([]);
  });
});
