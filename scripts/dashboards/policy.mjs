/** Policy and limits: what is refused, by which rule, and whether the limits are right. */
import { chart, row, stat } from "./panels.mjs";

const NUMBER = { unit: "reqps", width: 6 };

export default {
  file: "cardea-policy",
  uid: "cardea-policy",
  title: "Cardea: policy and limits",
  variables: ["server"],
  panels: [
    row("At a glance"),
    stat(
      "Denied",
      { ...NUMBER, steps: [["green"], ["orange", 1]], description: "Calls that a rule denied." },
      'sum(rate(cardea_policy_decisions_total{AT,decision="deny"}[R])) or vector(0)',
    ),
    stat(
      "Over a limit",
      { ...NUMBER, steps: [["green"], ["orange", 1]], description: "Calls that a limit refused." },
      'sum(rate(cardea_rate_limited_total{AT,server=~"$server"}[R])) or vector(0)',
    ),
    stat(
      "Not let in",
      { ...NUMBER, steps: [["green"], ["orange", 1]], description: "Requests that failed authentication." },
      "sum(rate(cardea_auth_failures_total{AT}[R])) or vector(0)",
    ),
    stat(
      "Audit log",
      {
        unit: "none",
        width: 6,
        steps: [["red"], ["green", 1]],
        texts: { 0: "cannot be written", 1: "is written" },
        description: "No data: there is none.",
      },
      "min(cardea_audit_up{AT})",
    ),
    row("Policy"),
    chart("Decisions", { unit: "reqps", width: 12, stacked: true }, [
      "sum by (decision) (rate(cardea_policy_decisions_total{AT}[R]))",
      "{{decision}}",
    ]),
    chart("Rules that decide most", { unit: "reqps", width: 12 }, [
      "topk(10, sum by (decision, rule) (rate(cardea_policy_decisions_total{AT}[R])))",
      "{{decision}}: {{rule}}",
    ]),
    chart(
      "Approvals",
      { unit: "reqps", width: 12, description: "Asked for, and not given." },
      ['sum by (rule) (rate(cardea_policy_decisions_total{AT,decision="approve"}[R]))', "asked: {{rule}}"],
      [
        'sum by (rule) (rate(cardea_policy_decisions_total{AT,decision="decline"}[R]))',
        "not given: {{rule}}",
      ],
    ),
    chart(
      "Questions of servers that no host was asked",
      {
        unit: "none",
        width: 12,
        description: "By why: the policy, a host that cannot answer, no call that they belong to.",
      },
      [
        'sum by (server, reason) (increase(cardea_refused_questions_total{AT,server=~"$server"}[R]))',
        "{{server}}: {{reason}}",
      ],
    ),
    row("Limits"),
    chart("Refused by limit", { unit: "reqps", width: 12 }, [
      'sum by (rule) (rate(cardea_rate_limited_total{AT,server=~"$server"}[R]))',
      "{{rule}}",
    ]),
    chart("Refused by server", { unit: "reqps", width: 12 }, [
      'sum by (server) (rate(cardea_rate_limited_total{AT,server=~"$server"}[R]))',
      "{{server}}",
    ]),
    chart(
      "Refused for want of memory or descriptors",
      { unit: "none", width: 12, description: "Streams first, then calls, then connections." },
      ["sum by (what) (increase(cardea_overload_refusals_total{AT}[R]))", "{{what}}"],
    ),
    chart(
      "Uses of the cluster's store for limits",
      {
        unit: "ops",
        width: 12,
        description: "At a tenth of a limit of thousands, one for 64 calls; at its edge, one for each call.",
      },
      ["sum by (kind) (rate(cardea_cluster_lease_calls_total{AT}[R]))", "{{kind}}"],
    ),
    row("Who comes"),
    chart("Not let in", { unit: "reqps", width: 12 }, [
      "sum by (reason) (rate(cardea_auth_failures_total{AT}[R]))",
      "{{reason}}",
    ]),
    chart("Records of the audit log that were lost", { unit: "none", width: 12 }, [
      "cardea_audit_lost_records{AT}",
      "{{instance}}",
    ]),
  ],
};
