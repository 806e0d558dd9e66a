/** Every alert fires when it should and is silent when all is well: Debian's promtool, where it is installed. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { parse, stringify } from "yaml";
import { inRepository } from "../support/cardea.js";

const PROMTOOL = "/usr/bin/promtool";
if (!existsSync(PROMTOOL))
  console.warn("NOT RUN: the tests with promtool; install it with apt-get install prometheus");

interface Rule {
  readonly alert: string;
  readonly labels: Readonly<Record<string, string>>;
  annotations?: object;
}
interface Rules {
  readonly groups: readonly { readonly rules: readonly Rule[] }[];
}
const RULES = inRepository("dashboards/prometheus/cardea.rules.yml");
const read = (): Rules => parse(readFileSync(RULES, "utf8")) as Rules;
const rules = read().groups.flatMap((group) => group.rules);

/** Series of an hour: the values of each, when all is well and when it is not; and the labels that the alert adds to its own. */
const AT = { job: "cardea", instance: "a" };
const calls = (outcome: string) =>
  `cardea_requests_total{server="files",method="tools/call",outcome="${outcome}"}`;
const CASES: Readonly<
  Record<
    string,
    { readonly well: Series; readonly ill: Series; readonly labels?: Labels; readonly isOfJob?: true }
  >
> = {
  CardeaDown: { well: { up: "1x60" }, ill: { up: "0x60" }, isOfJob: true },
  CardeaServerDown: {
    well: { 'cardea_server_state{server="files",state="idle"}': "1x60", cardea_upstream_up: "0x60" },
    ill: { 'cardea_server_state{server="files",state="misconfigured"}': "1x60" },
    labels: { server: "files" },
  },
  CardeaServerFlapping: {
    well: { 'cardea_upstream_restarts_total{server="files",reason="lost"}': "1x60" },
    ill: { 'cardea_upstream_restarts_total{server="files",reason="lost"}': "0+1x60" },
    labels: { server: "files" },
  },
  CardeaCallsFail: {
    well: { [calls("ok")]: "0+99x60", [calls("timed_out")]: "0+1x60" },
    ill: { [calls("ok")]: "0+90x60", [calls("timed_out")]: "0+10x60" },
    labels: { server: "files" },
  },
  CardeaCallsAreSlow: { well: latencies("0.1"), ill: latencies("30"), labels: { server: "files" } },
  CardeaCircuitOpen: gauge("cardea_circuit_state", "0x60", "2x60", { server: "files" }),
  CardeaLimitsRefuseMuch: counter("cardea_rate_limited_total", { rule: "few" }),
  CardeaPolicyDeniesMuch: {
    well: { 'cardea_policy_decisions_total{rule="no",decision="deny"}': "0+1x60" },
    ill: { 'cardea_policy_decisions_total{rule="no",decision="deny"}': "0+120x60" },
    labels: { rule: "no" },
  },
  CardeaStrangersKnock: counter("cardea_auth_failures_total", { reason: "expired" }),
  CardeaSignInsRefused: {
    well: { 'cardea_sign_ins_total{server="files",outcome="refused"}': "1x60" },
    ill: { 'cardea_sign_ins_total{server="files",outcome="refused"}': "0+6x60" },
    labels: { server: "files" },
  },
  CardeaConfigRefused: gauge("cardea_config_last_reload_successful", "1x60", "0x60"),
  CardeaSheds: gauge("cardea_overload_level", "0x60", "1x60"),
  CardeaHeapNearItsLimit: {
    well: { nodejs_heap_size_used_bytes: "50x60", cardea_heap_limit_bytes: "100x60" },
    ill: { nodejs_heap_size_used_bytes: "90x60", cardea_heap_limit_bytes: "100x60" },
  },
  CardeaDescriptorsNearTheirLimit: {
    well: { process_open_fds: "50x60", process_max_fds: "100x60" },
    ill: { process_open_fds: "90x60", process_max_fds: "100x60" },
  },
  CardeaEventLoopLate: gauge("nodejs_eventloop_lag_p99_seconds", "0.01x60", "0.5x60"),
  CardeaClusterStoreAway: gauge("cardea_cluster_store_up", "1x60", "0x60"),
  CardeaAuditLogNotWritten: gauge("cardea_audit_up", "1x60", "0x60"),
  CardeaAuditSinkAway: gauge("cardea_audit_sink_up", "1x60", "0x60"),
  CardeaLeftProcessesBehind: gauge("cardea_orphaned_processes", "0x60", "2x60"),
};

type Series = Readonly<Record<string, string>>;
type Labels = Readonly<Record<string, string>>;

function gauge(metric: string, well: string, ill: string, labels: Labels = {}) {
  const name = selector(metric, labels);
  return { well: { [name]: well }, ill: { [name]: ill }, labels };
}

/** One a minute, and two a second. */
function counter(metric: string, labels: Labels) {
  const name = selector(metric, labels);
  return { well: { [name]: "0+1x60" }, ill: { [name]: "0+120x60" }, labels };
}

function selector(metric: string, labels: Labels): string {
  const written = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
  return `${metric}{${written.join(",")}}`;
}

/** All calls in the bucket up to `le` seconds and those above. */
function latencies(le: string): Series {
  const bucket = (bound: string) =>
    `cardea_request_duration_seconds_bucket{server="files",method="tools/call",le="${bound}"}`;
  const below = Number(le) > 10 ? "0x60" : "0+100x60";
  return {
    [bucket("0.1")]: below,
    [bucket("10")]: below,
    [bucket("30")]: "0+100x60",
    [bucket("+Inf")]: "0+100x60",
  };
}

/** The series with the labels that Prometheus gives them. */
const scraped = (series: Series) =>
  Object.entries(series).map(([name, values]) => {
    const [metric = "", inside = ""] = name.replace("}", "").split("{");
    const labels = [`job="${AT.job}"`, `instance="${AT.instance}"`, ...(inside === "" ? [] : [inside])];
    return { series: `${metric}{${labels.join(",")}}`, values };
  });

describe("an alert", () => {
  test("has a case here, whichever it is", () => {
    expect(Object.keys(CASES).toSorted()).toEqual(rules.map(({ alert }) => alert).toSorted());
  });

  test.runIf(existsSync(PROMTOOL))("fires at what it is for, and is silent when all is well", () => {
    const folder = mkdtempSync(join(tmpdir(), "cardea-alerts-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    // promtool compares annotations too, and these only quote the labels.
    const bare = read();
    for (const group of bare.groups) for (const rule of group.rules) delete rule.annotations;
    writeFileSync(join(folder, "rules.yml"), stringify(bare));
    const cases = Object.entries(CASES).flatMap(([alertname, { well, ill, labels = {}, isOfJob }]) => {
      const rule = rules.find(({ alert }) => alert === alertname);
      const own = isOfJob ? { job: AT.job } : AT;
      const firing = [{ exp_labels: { ...rule?.labels, ...own, ...labels } }];
      return [
        [well, []],
        [ill, firing],
      ].map(([series, exp_alerts]) => ({
        interval: "1m",
        input_series: scraped(series as Series),
        alert_rule_test: [{ eval_time: "45m", alertname, exp_alerts }],
      }));
    });
    const file = join(folder, "test.yml");
    writeFileSync(file, stringify({ rule_files: ["rules.yml"], evaluation_interval: "1m", tests: cases }));
    expect(execFileSync(PROMTOOL, ["test", "rules", file], { encoding: "utf8" })).toContain("SUCCESS");
  });

  test.runIf(existsSync(PROMTOOL))("is as the examples beside the rules say", () => {
    const examples = inRepository("dashboards/prometheus/cardea.rules.test.yml");
    expect(execFileSync(PROMTOOL, ["test", "rules", examples], { encoding: "utf8" })).toContain("SUCCESS");
  });

  test("leads to a section of the docs", () => {
    const page = readFileSync(inRepository("docs/observability.md"), "utf8");
    expect(page).toContain("\n## Alerts\n");
    for (const { annotations } of rules)
      expect(annotations).toMatchObject({ runbook: "docs/observability.md#alerts" });
  });
});
