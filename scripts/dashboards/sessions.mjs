/** Sessions and questions: who is connected, what waits for a person or a model, and how replicas share it. */
import { chart, row, stat } from "./panels.mjs";

const NUMBER = { unit: "none", width: 6, steps: [["blue"]] };

export default {
  file: "cardea-sessions",
  uid: "cardea-sessions",
  title: "Cardea: sessions and questions",
  variables: ["server"],
  panels: [
    row("At a glance"),
    stat(
      "Sessions",
      { ...NUMBER, description: "Of hosts before 2026-07-28; later ones have none." },
      "sum(cardea_sessions{AT})",
    ),
    stat(
      "Streams",
      { ...NUMBER, description: "Event streams that are open." },
      "sum(cardea_streams_open{AT}) or vector(0)",
    ),
    stat(
      "Waiting calls",
      { ...NUMBER, description: "Calls that wait for an answer to their server's question." },
      "sum(cardea_parked_calls{AT})",
    ),
    stat(
      "Wait, p90",
      { unit: "s", width: 6, steps: [["blue"]], description: "How long a person or a model takes." },
      'histogram_quantile(0.9, sum by (le) (rate(cardea_input_wait_seconds_bucket{AT,server=~"$server"}[R])))',
    ),
    row("Hosts"),
    chart("Sessions", { unit: "none", width: 12, stacked: true }, [
      "sum by (era) (cardea_sessions{AT})",
      "{{era}}",
    ]),
    chart("Streams", { unit: "none", width: 12, stacked: true }, [
      "sum by (kind) (cardea_streams_open{AT})",
      "{{kind}}",
    ]),
    row("Questions"),
    chart("Asked and answered", { unit: "reqps", width: 8, description: "Answers, by what was asked." }, [
      'sum by (kind) (rate(cardea_input_wait_seconds_count{AT,server=~"$server"}[R]))',
      "{{kind}}",
    ]),
    chart("How long an answer takes", { unit: "s", width: 8, description: "p90." }, [
      'histogram_quantile(0.9, sum by (le, kind) (rate(cardea_input_wait_seconds_bucket{AT,server=~"$server"}[R])))',
      "{{kind}}",
    ]),
    chart(
      "Waiting, and refused",
      { unit: "none", width: 8, description: "Calls that wait, and questions that no host was asked." },
      ["sum(cardea_parked_calls{AT})", "waiting"],
      [
        'sum by (reason) (increase(cardea_refused_questions_total{AT,server=~"$server"}[R]))',
        "refused: {{reason}}",
      ],
    ),
    row("Replicas"),
    chart(
      "Replicas that run",
      { unit: "none", width: 8, description: "As each of them knows it. No data: there is no cluster." },
      ["cardea_cluster_replicas{AT}", "{{instance}}"],
    ),
    chart("The store answers", { unit: "none", width: 8, max: 1 }, [
      "cardea_cluster_store_up{AT}",
      "{{instance}}",
    ]),
    chart("Sessions taken over", { unit: "none", width: 8 }, [
      "sum by (outcome) (increase(cardea_cluster_adoptions_total{AT}[R]))",
      "{{outcome}}",
    ]),
    chart("Forwarded to their owner", { unit: "reqps", width: 12, stacked: true }, [
      "sum by (outcome) (rate(cardea_cluster_forwards_total{AT}[R]))",
      "{{outcome}}",
    ]),
    chart("Until the answer of an owner begins", { unit: "s", width: 12, description: "p99." }, [
      "histogram_quantile(0.99, sum by (le) (rate(cardea_cluster_forward_duration_seconds_bucket{AT}[R])))",
      "p99",
    ]),
  ],
};
