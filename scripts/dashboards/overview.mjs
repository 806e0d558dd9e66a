/** All gateways, servers and hosts at a glance: what is wrong, and where to look. */
import { chart, row, stat } from "./panels.mjs";

export default {
  file: "cardea",
  uid: "cardea-overview",
  title: "Cardea",
  variables: ["server"],
  panels: [
    row("At a glance"),
    stat(
      "Servers that cannot be reached",
      { unit: "none", description: "Of those in the config; idle ones can.", steps: [["green"], ["red", 1]] },
      'sum(max by (instance, server) (cardea_server_state{AT,server=~"$server",state=~"starting|backoff|stopped|misconfigured"})) or vector(0)',
    ),
    stat(
      "Calls",
      { unit: "reqps", description: "Of hosts, every method.", steps: [["blue"]] },
      'sum(rate(cardea_requests_total{AT,server=~"$server"}[R]))',
    ),
    stat(
      "Failed",
      {
        unit: "percentunit",
        description:
          "Share of calls that got no answer of their server; refusals by policy and errors that servers answer with are not among them.",
        steps: [["green"], ["orange", 0.01], ["red", 0.05]],
        decimals: 2,
      },
      '(sum(rate(cardea_requests_total{AT,server=~"$server",outcome=~"timed_out|upstream_unavailable|upstream_closed|upstream_rejected|outcome_unknown|queue_full|overloaded"}[R])) or vector(0)) / sum(rate(cardea_requests_total{AT,server=~"$server"}[R]))',
    ),
    stat(
      "p99",
      {
        unit: "s",
        description: "Of tool calls; without waiting for a person or a model.",
        steps: [["green"], ["orange", 1], ["red", 5]],
      },
      'histogram_quantile(0.99, sum by (le) (rate(cardea_request_duration_seconds_bucket{AT,server=~"$server",method="tools/call"}[R])))',
    ),
    stat(
      "Newest config",
      {
        unit: "none",
        description: "Whether it is in effect; when it was refused, the one before it is.",
        steps: [["red"], ["green", 1]],
        texts: { 0: "refused", 1: "in effect" },
      },
      "min(cardea_config_last_reload_successful{AT})",
    ),
    stat(
      "Shedding",
      {
        unit: "none",
        description: "Memory pressure: what is refused.",
        steps: [["green"], ["orange", 1], ["red", 2]],
        texts: { 0: "nothing", 1: "streams", 2: "calls", 3: "connections" },
      },
      "max(cardea_overload_level{AT})",
    ),
    chart(
      "Calls by outcome",
      { unit: "reqps", description: "How calls of hosts ended.", width: 12, stacked: true },
      ['sum by (outcome) (rate(cardea_requests_total{AT,server=~"$server"}[R]))', "{{outcome}}"],
    ),
    chart("Calls by method", { unit: "reqps", width: 12, stacked: true }, [
      'sum by (method) (rate(cardea_requests_total{AT,server=~"$server"}[R]))',
      "{{method}}",
    ]),
    row("Servers"),
    chart(
      "Reachable",
      { unit: "none", description: "1 while the server can be reached.", width: 8, max: 1 },
      ['min by (server) (cardea_upstream_up{AT,server=~"$server"})', "{{server}}"],
    ),
    chart("Started again", { unit: "none", description: "A server that was lost and is back.", width: 8 }, [
      'sum by (server, reason) (increase(cardea_upstream_restarts_total{AT,server=~"$server"}[R]))',
      "{{server}}: {{reason}}",
    ]),
    chart("Circuit", { unit: "none", description: "0 closed, 1 half open, 2 open.", width: 8, max: 2 }, [
      'max by (server) (cardea_circuit_state{AT,server=~"$server"})',
      "{{server}}",
    ]),
    chart("p99 of tool calls by server", { unit: "s", width: 12 }, [
      'histogram_quantile(0.99, sum by (le, server) (rate(cardea_request_duration_seconds_bucket{AT,server=~"$server",method="tools/call"}[R])))',
      "{{server}}",
    ]),
    chart(
      "Slowest tools",
      { unit: "s", description: "p95; at most 200 tools of a server are told apart.", width: 12 },
      [
        'topk(10, histogram_quantile(0.95, sum by (le, server, tool) (rate(cardea_request_duration_seconds_bucket{AT,server=~"$server",tool!=""}[R]))))',
        "{{server}}: {{tool}}",
      ],
    ),
    chart(
      "Under way and waiting in line",
      { unit: "none", width: 8 },
      ['sum by (server) (cardea_inflight_requests{AT,server=~"$server"})', "{{server}}"],
      ['sum by (server) (cardea_queue_depth{AT,server=~"$server"})', "{{server}}: waiting"],
    ),
    chart(
      "Errors of servers",
      { unit: "reqps", description: "By code of JSON-RPC, or tool_error; seen as their client.", width: 8 },
      [
        'sum by (error_type) (rate(mcp_client_operation_duration_seconds_count{AT,error_type!=""}[R]))',
        "{{error_type}}",
      ],
    ),
    chart("Changes of lists", { unit: "none", description: "Told by servers.", width: 8 }, [
      'sum by (server, list) (increase(cardea_list_changed_total{AT,server=~"$server"}[R]))',
      "{{server}}: {{list}}",
    ]),
    row("Hosts and questions"),
    chart(
      "Sessions and streams",
      { unit: "none", width: 8 },
      ["sum by (era) (cardea_sessions{AT})", "sessions: {{era}}"],
      ["sum by (kind) (cardea_streams_open{AT})", "streams: {{kind}}"],
    ),
    chart(
      "Waiting for a person or a model",
      { unit: "s", description: "How long calls waited, p90; and how many wait here.", width: 8 },
      [
        'histogram_quantile(0.9, sum by (le, kind) (rate(cardea_input_wait_seconds_bucket{AT,server=~"$server"}[R])))',
        "{{kind}}",
      ],
    ),
    chart(
      "Questions",
      { unit: "none", description: "Parked calls, and refused questions of servers.", width: 8 },
      ["sum(cardea_parked_calls{AT})", "waiting"],
      [
        'sum by (reason) (increase(cardea_refused_questions_total{AT,server=~"$server"}[R]))',
        "refused: {{reason}}",
      ],
    ),
    row("Policy"),
    chart("Decisions", { unit: "reqps", width: 8 }, [
      "sum by (decision, rule) (rate(cardea_policy_decisions_total{AT}[R]))",
      "{{decision}}: {{rule}}",
    ]),
    chart("Refused by a limit", { unit: "reqps", width: 8 }, [
      'sum by (server, rule) (rate(cardea_rate_limited_total{AT,server=~"$server"}[R]))',
      "{{server}}: {{rule}}",
    ]),
    chart("Not let in", { unit: "reqps", description: "Requests that failed authentication.", width: 8 }, [
      "sum by (reason) (rate(cardea_auth_failures_total{AT}[R]))",
      "{{reason}}",
    ]),
    row("Sign-ins"),
    chart(
      "Sign-ins",
      {
        unit: "none",
        description:
          "Sign-ins of persons to servers, by what became of them. Many that were started and not finished: persons do not get through.",
        width: 8,
      },
      [
        'sum by (server, outcome) (increase(cardea_sign_ins_total{AT,server=~"$server"}[R]))',
        "{{server}}: {{outcome}}",
      ],
    ),
    chart(
      "Tokens renewed",
      {
        unit: "none",
        description:
          "Attempts to renew tokens. After invalid_grant the person has to sign in again; nothing is lost with all others.",
        width: 8,
      },
      [
        'sum by (server, outcome) (increase(cardea_token_refreshes_total{AT,server=~"$server"}[R]))',
        "{{server}}: {{outcome}}",
      ],
      ["sum(cardea_tokens_expiring{AT})", "end within an hour"],
    ),
    chart(
      "Rules excused",
      {
        unit: "none",
        description: "Sign-ins at servers with quirks: those that break a rule of OAuth.",
        width: 8,
      },
      [
        'sum by (server, quirk) (increase(cardea_sign_in_quirks_total{AT,server=~"$server"}[R]))',
        "{{server}}: {{quirk}}",
      ],
    ),
    row("Replicas"),
    chart(
      "Replicas that run",
      { unit: "none", width: 8, description: "As each of them knows it. No data: there is no cluster." },
      ["cardea_cluster_replicas{AT}", "{{instance}}"],
    ),
    chart(
      "The store answers",
      {
        unit: "none",
        width: 8,
        max: 1,
        description: "0: limits go on by onOutage, and new sessions end with their replica.",
      },
      ["cardea_cluster_store_up{AT}", "{{instance}}"],
    ),
    chart(
      "Forwarded, and sessions taken over",
      { unit: "none", width: 8 },
      ["sum by (outcome) (increase(cardea_cluster_forwards_total{AT}[R]))", "forwarded: {{outcome}}"],
      ["sum by (outcome) (increase(cardea_cluster_adoptions_total{AT}[R]))", "taken over: {{outcome}}"],
    ),
    row("Process"),
    chart("CPU", { unit: "none", description: "Seconds of CPU per second.", width: 6 }, [
      "rate(process_cpu_seconds_total{AT}[R])",
      "{{instance}}",
    ]),
    chart(
      "Memory",
      { unit: "bytes", width: 6 },
      ["process_resident_memory_bytes{AT}", "{{instance}}"],
      ["nodejs_heap_size_used_bytes{AT}", "{{instance}}: heap"],
      ["cardea_heap_limit_bytes{AT}", "{{instance}}: limit of the heap"],
    ),
    chart(
      "Event loop",
      { unit: "s", description: "How late it is, p99; a second or more is counted as a stall.", width: 6 },
      ["nodejs_eventloop_lag_p99_seconds{AT}", "{{instance}}"],
    ),
    chart(
      "Descriptors",
      { unit: "none", width: 6 },
      ["process_open_fds{AT}", "{{instance}}"],
      ["process_max_fds{AT}", "{{instance}}: most"],
    ),
  ],
};
