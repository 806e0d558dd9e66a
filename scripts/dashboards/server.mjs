/** One server: is it there, how fast is it, what fails, and who waits for it? */
import { chart, row, stat } from "./panels.mjs";

const FAILED =
  "timed_out|upstream_unavailable|upstream_closed|upstream_rejected|outcome_unknown|queue_full|overloaded";
const QUANTILES = [0.5, 0.9, 0.99];

export default {
  file: "cardea-server",
  uid: "cardea-server",
  title: "Cardea: one server",
  variables: ["server"],
  one: ["server"],
  panels: [
    row("$server"),
    stat(
      "Reachable",
      {
        unit: "none",
        steps: [["red"], ["green", 1]],
        texts: { 0: "no", 1: "yes" },
        description: "At each of the chosen gateways.",
      },
      'min(cardea_upstream_up{AT,server=~"$server"})',
    ),
    stat(
      "Calls",
      { unit: "reqps", steps: [["blue"]], description: "Of hosts, every method." },
      'sum(rate(cardea_requests_total{AT,server=~"$server"}[R]))',
    ),
    stat(
      "Failed",
      {
        unit: "percentunit",
        decimals: 2,
        steps: [["green"], ["orange", 0.01], ["red", 0.05]],
        description: "Share of calls that got no answer of the server.",
      },
      `(sum(rate(cardea_requests_total{AT,server=~"$server",outcome=~"${FAILED}"}[R])) or vector(0)) / sum(rate(cardea_requests_total{AT,server=~"$server"}[R]))`,
    ),
    stat(
      "p99",
      {
        unit: "s",
        steps: [["green"], ["orange", 1], ["red", 5]],
        description: "Of tool calls; without waiting for a person or a model.",
      },
      'histogram_quantile(0.99, sum by (le) (rate(cardea_request_duration_seconds_bucket{AT,server=~"$server",method="tools/call"}[R])))',
    ),
    stat(
      "Waiting in line",
      {
        unit: "none",
        steps: [["green"], ["orange", 1], ["red", 20]],
        description: "Calls that wait for a place at the server.",
      },
      'sum(cardea_queue_depth{AT,server=~"$server"})',
    ),
    stat(
      "Circuit",
      {
        unit: "none",
        steps: [["green"], ["orange", 1], ["red", 2]],
        texts: { 0: "closed", 1: "half open", 2: "open" },
        description: "Open: it failed so often that calls are refused for a time.",
      },
      'max(cardea_circuit_state{AT,server=~"$server"})',
    ),
    row("Calls"),
    chart("By outcome", { unit: "reqps", width: 12, stacked: true }, [
      'sum by (outcome) (rate(cardea_requests_total{AT,server=~"$server"}[R]))',
      "{{outcome}}",
    ]),
    chart("By method", { unit: "reqps", width: 12, stacked: true }, [
      'sum by (method) (rate(cardea_requests_total{AT,server=~"$server"}[R]))',
      "{{method}}",
    ]),
    chart(
      "How long tool calls take",
      { unit: "s", width: 12, description: "Without waiting for a person or a model." },
      ...QUANTILES.map((quantile) => [
        `histogram_quantile(${quantile}, sum by (le) (rate(cardea_request_duration_seconds_bucket{AT,server=~"$server",method="tools/call"}[R])))`,
        `p${quantile * 100}`,
      ]),
    ),
    chart(
      "Slowest tools",
      { unit: "s", width: 12, description: "p95; at most 200 tools of a server are told apart." },
      [
        'topk(10, histogram_quantile(0.95, sum by (le, tool) (rate(cardea_request_duration_seconds_bucket{AT,server=~"$server",tool!=""}[R]))))',
        "{{tool}}",
      ],
    ),
    row("The server itself"),
    chart("Reachable", { unit: "none", width: 8, max: 1, description: "1 while it can be reached." }, [
      'cardea_upstream_up{AT,server=~"$server"}',
      "{{instance}}",
    ]),
    chart("Started again", { unit: "none", width: 8, description: "It was lost, and is back." }, [
      'sum by (reason) (increase(cardea_upstream_restarts_total{AT,server=~"$server"}[R]))',
      "{{reason}}",
    ]),
    chart(
      "Under way and waiting in line",
      { unit: "none", width: 8 },
      ['sum(cardea_inflight_requests{AT,server=~"$server"})', "under way"],
      ['sum(cardea_queue_depth{AT,server=~"$server"})', "waiting"],
    ),
    chart(
      "Sent again, answered from the cache, belonging to no call",
      {
        unit: "none",
        width: 8,
        description: "Messages that belong to no call are, as a rule, late responses.",
      },
      ['sum(increase(cardea_retries_total{AT,server=~"$server"}[R]))', "sent again"],
      ['sum(increase(cardea_cache_hits_total{AT,server=~"$server"}[R]))', "from the cache"],
      ['sum(increase(cardea_upstream_strays_total{AT,server=~"$server"}[R]))', "belong to no call"],
    ),
    chart("Changes of lists", { unit: "none", width: 8, description: "Told by the server." }, [
      'sum by (list) (increase(cardea_list_changed_total{AT,server=~"$server"}[R]))',
      "{{list}}",
    ]),
    chart(
      "Sign-ins and tokens",
      { unit: "none", width: 8 },
      ['sum by (outcome) (increase(cardea_sign_ins_total{AT,server=~"$server"}[R]))', "sign-in: {{outcome}}"],
      [
        'sum by (outcome) (increase(cardea_token_refreshes_total{AT,server=~"$server"}[R]))',
        "token: {{outcome}}",
      ],
    ),
  ],
};
