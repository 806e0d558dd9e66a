/** The dashboards and the alerts: every metric, label and outcome that they name is one that the gateway has. */
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { ERRORS } from "../../src/core/errors.js";
import type { GaugeLabels } from "../../src/telemetry/gauges.js";
import { Metrics } from "../../src/telemetry/metrics.js";
import { inRepository } from "../support/cardea.js";
import { addFeatureMetrics } from "../support/features.js";
import { type Names, namesIn } from "./promql.js";

const read = (path: string): string => readFileSync(inRepository(`dashboards/${path}`), "utf8");

interface Target {
  readonly expr: string;
  readonly datasource: object;
}
interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly datasource?: object;
  readonly targets?: readonly Target[];
  readonly fieldConfig?: { readonly defaults: { readonly unit?: string } };
}
interface Dashboard {
  readonly id: null;
  readonly uid: string;
  readonly panels: readonly Panel[];
  readonly templating: {
    readonly list: readonly { readonly name: string; readonly type: string; readonly definition?: string }[];
  };
}
interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly description: string };
}

const names = readdirSync(inRepository("dashboards/grafana"));
const dashboards = names.map((name) => JSON.parse(read(`grafana/${name}`)) as Dashboard);
const rules = (parse(read("prometheus/cardea.rules.yml")) as { groups: { rules: Rule[] }[] }).groups.flatMap(
  (group) => group.rules,
);
const panelsOf = (dashboard: Dashboard) => dashboard.panels.filter(({ type }) => type !== "row");
const expressions = [
  ...dashboards.flatMap((dashboard) =>
    panelsOf(dashboard).flatMap(({ title, targets = [] }) =>
      targets.map(({ expr }) => [`${dashboard.uid}: ${title}`, expr] as const),
    ),
  ),
  ...rules.map(({ alert, expr }) => [alert, expr] as const),
];

/** What a scrape shows of a gateway in which everything has happened once: type and labels of each metric. */
const known = new Map<string, { readonly type: string; readonly labels: Set<string> }>();

beforeAll(async () => {
  const metrics = new Metrics({ version: "1.2.3" });
  const call = { method: "tools/call", server: "files", tool: "read", seconds: 1, errorType: "tool_error" };
  metrics.calls.callFinished(call, "ok");
  metrics.calls.upstreamCallFinished(call);
  metrics.restarted("files", "lost");
  metrics.questionRefused("files", "unattributable");
  metrics.unmatchedMessage("files");
  metrics.loadShed("calls");
  metrics.listChanged("files", "tools");
  metrics.authFailed("expired");
  metrics.retried("files");
  metrics.cacheHit("files");
  metrics.clusterForwarded("answered", 1);
  metrics.clusterAdopted("adopted");
  metrics.clusterLeaseCall("rate");
  metrics.inputWaited({ server: "files", kind: "elicitation", seconds: 1 });
  const readings: { readonly [K in keyof GaugeLabels]: GaugeLabels[K] } = {
    clusterReplicas: {},
    clusterStoreUp: {},
    upstreamUp: { server: "files" },
    serverState: { server: "files", state: "ready" },
    inflightRequests: { server: "files" },
    queueDepth: { server: "files" },
    circuitState: { server: "files" },
    sessions: { era: "legacy" },
    streamsOpen: { kind: "response" },
    orphans: {},
    overloadLevel: {},
    heapLimit: {},
    parkedCalls: {},
  };
  for (const [what, labels] of Object.entries(readings))
    metrics.gauge(what as keyof GaugeLabels, labels, () => 1);
  addFeatureMetrics(metrics);

  for (const line of (await metrics.text()).split("\n")) {
    const [, name, type] = /^# TYPE (\S+) (\S+)$/.exec(line) ?? [];
    if (name !== undefined) known.set(name, { type: type ?? "", labels: new Set(["job", "instance"]) });
    const [, series = "", inside = ""] = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? \S+$/.exec(line) ?? [];
    for (const [, label = ""] of inside.matchAll(/(\w+)="/g)) metricOf(series)?.labels.add(label);
  }
  // Prometheus adds it to everything it scrapes.
  known.set("up", { type: "gauge", labels: new Set(["job", "instance"]) });
});

/** A histogram is requested by its parts. */
const metricOf = (series: string) =>
  known.get(series) ?? known.get(series.replace(/_(bucket|sum|count)$/, ""));

const each = (look: (names: Names, where: string, expr: string) => readonly string[]): readonly string[] =>
  expressions.flatMap(([where, expr]) => look(namesIn(expr), where, expr));

describe("each name in the dashboards and the alerts", () => {
  test("is a metric of a scrape", () => {
    const unknown = each(({ selectors }, where) =>
      selectors
        .filter(({ metric }) => metricOf(metric) === undefined)
        .map(({ metric }) => `${where}: ${metric}`),
    );
    expect(unknown).toEqual([]);
  });

  test("is a label that the metric has", () => {
    const unknown = each(({ selectors, grouping }, where) => {
      const labels = [
        ...grouping,
        ...selectors.flatMap(({ matchers }) => matchers.map(({ label }) => label)),
      ];
      const all = new Set(selectors.flatMap(({ metric }) => [...(metricOf(metric)?.labels ?? [])]));
      return labels.filter((label) => !all.has(label)).map((label) => `${where}: ${label}`);
    });
    expect(unknown).toEqual([]);
  });

  test("is an existing outcome", () => {
    const ofSignIns = ["started", "finished", "refused", "stepped_up", "signed_out"];
    const outcomes = new Set(["ok", "tool_error", "input_required", ...Object.keys(ERRORS), ...ofSignIns]);
    const named = each(({ selectors }) =>
      selectors.flatMap(({ matchers }) =>
        matchers.filter(({ label }) => label === "outcome").flatMap(({ values }) => values),
      ),
    );
    expect(named.length).toBeGreaterThan(5);
    expect(named.filter((outcome) => !outcomes.has(outcome))).toEqual([]);
  });

  test("is under rate() where it is a counter, and nowhere else", () => {
    const wrong = each(({ selectors }, where) =>
      selectors
        .filter(({ metric, rated }) => {
          const type = metricOf(metric)?.type;
          return (type === "counter" || type === "histogram") !== rated;
        })
        .map(({ metric }) => `${where}: ${metric}`),
    );
    expect(wrong).toEqual([]);
  });
});

describe.each(dashboards)("the dashboard $uid", (dashboard) => {
  const panels = panelsOf(dashboard);

  test("takes its data source from its variable, in every panel", () => {
    const source = { type: "prometheus", uid: "${datasource}" };
    expect(dashboard.templating.list[0]).toMatchObject({ name: "datasource", type: "datasource" });
    const sources = panels.flatMap(({ datasource, targets = [] }) => [
      datasource,
      ...targets.map((target) => target.datasource),
    ]);
    expect(sources.filter((one) => JSON.stringify(one) !== JSON.stringify(source))).toEqual([]);
  });

  test("has a fixed uid, no id of an installation, and panels with distinct ids and titles", () => {
    expect([dashboard.uid, dashboard.id]).toEqual([expect.stringMatching(/^cardea-/), null]);
    const ids = dashboard.panels.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    expect(panels.filter(({ fieldConfig }) => !fieldConfig?.defaults.unit)).toEqual([]);
  });

  test("uses no fixed ranges in its expressions", () => {
    const fixed = panels.flatMap(({ targets = [] }) => targets).filter(({ expr }) => /\[\d/.test(expr));
    expect(fixed).toEqual([]);
  });

  test("has variables of existing labels", () => {
    for (const { definition } of dashboard.templating.list.slice(1)) {
      const [, selector = "", label = ""] = /^label_values\((.*), (\w+)\)$/.exec(definition ?? "") ?? [];
      const [{ metric, matchers } = { metric: "", matchers: [] }] = namesIn(selector).selectors;
      const labels = [label, ...matchers.map((matcher) => matcher.label)];
      expect(labels.filter((one) => metricOf(metric)?.labels.has(one) !== true)).toEqual([]);
    }
  });
});

describe("an alert", () => {
  test.each(rules)("$alert has a severity, a summary and a description", ({ labels, annotations }) => {
    expect(["critical", "warning", "info"]).toContain(labels.severity);
    expect(annotations.summary).not.toBe("");
    expect(annotations.description).toMatch(/\.$/);
  });

  test("uses only labels in its text that its expression keeps", () => {
    const wrong = rules.flatMap(({ alert, expr, annotations }) => {
      const { selectors, grouping } = namesIn(expr);
      const left =
        grouping.length > 0
          ? grouping
          : selectors.flatMap(({ metric }) => [...(metricOf(metric)?.labels ?? [])]);
      const spoken = [...JSON.stringify(annotations).matchAll(/\$labels\.(\w+)/g)].map(
        ([, label = ""]) => label,
      );
      return spoken.filter((label) => !left.includes(label)).map((label) => `${alert}: ${label}`);
    });
    expect(wrong).toEqual([]);
  });
});

test("both forms of every dashboard are what scripts/dashboards says", () => {
  const said = execFileSync(process.execPath, [inRepository("scripts/dashboards.mjs"), "--check"], {
    encoding: "utf8",
  });
  expect(said).toContain("10 dashboards, 0 of them new");
  expect(new Set(dashboards.map(({ uid }) => uid)).size).toBe(5);
});

test("a dashboard to import asks for its data source, and names no other", () => {
  for (const name of names) {
    const text = read(`import/${name}`);
    expect(JSON.parse(text)).toMatchObject({ __inputs: [{ name: "DS_PROMETHEUS", pluginId: "prometheus" }] });
    expect(text).not.toContain("${datasource}");
    expect(text).toContain("${DS_PROMETHEUS}");
  }
});

test("the provisioning files are valid YAML, and prometheus.yml loads the existing rules", () => {
  for (const path of ["dashboards/cardea.yaml", "datasources/prometheus.yaml"]) {
    expect(parse(read(`provisioning/${path}`))).toMatchObject({ apiVersion: 1 });
  }
  const { rule_files } = parse(read("prometheus/prometheus.yml")) as { rule_files: readonly string[] };
  expect(rule_files).toEqual(["cardea.rules.yml"]);
});

describe("the PromQL reader", () => {
  test("finds metrics, labels and values, and no keyword as one of them", () => {
    const names = namesIn(
      'topk(10, sum by (le, a) (rate(x_bucket{b=~"p|q",c!=""}[$__rate_interval])) / on (d) y) or vector(0) > 0.5 and z[5m]',
    );
    expect(names.grouping).toEqual(["le", "a", "d"]);
    expect(names.selectors).toEqual([
      {
        metric: "x_bucket",
        matchers: [
          { label: "b", values: ["p", "q"] },
          { label: "c", values: [""] },
        ],
        rated: true,
      },
      { metric: "y", matchers: [], rated: false },
      { metric: "z", matchers: [], rated: false },
    ]);
  });
});

test("every alert is in docs/observability.md", () => {
  const page = readFileSync(inRepository("docs/observability.md"), "utf8");
  const named = [...page.matchAll(/`(Cardea\w+)`/g)].map(([, alert]) => alert);
  expect(new Set(named)).toEqual(new Set(rules.map(({ alert }) => alert)));
});
