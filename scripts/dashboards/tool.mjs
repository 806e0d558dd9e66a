/** One tool: how often is it called, how does that end, and how long does it take? */
import { chart, row, stat } from "./panels.mjs";

const QUANTILES = [0.5, 0.9, 0.99];
const TOOL = 'AT,server=~"$server",tool=~"$tool"';

export default {
  file: "cardea-tool",
  uid: "cardea-tool",
  title: "Cardea: one tool",
  variables: ["server", "tool"],
  one: ["server", "tool"],
  panels: [
    row("$tool of $server"),
    stat(
      "Calls",
      { unit: "reqps", width: 6, steps: [["blue"]] },
      `sum(rate(cardea_request_duration_seconds_count{${TOOL}}[R]))`,
    ),
    stat(
      "Errors",
      {
        unit: "percentunit",
        width: 6,
        decimals: 2,
        steps: [["green"], ["orange", 0.05], ["red", 0.2]],
        description:
          "Share of calls that ended with an error of any kind, those of the tool too; of tools of this name at all servers.",
      },
      '(sum(rate(mcp_server_operation_duration_seconds_count{AT,gen_ai_tool_name=~"$tool",error_type!=""}[R])) or vector(0)) / sum(rate(mcp_server_operation_duration_seconds_count{AT,gen_ai_tool_name=~"$tool"}[R]))',
    ),
    stat(
      "p50",
      { unit: "s", width: 6, steps: [["green"], ["orange", 1], ["red", 5]] },
      `histogram_quantile(0.5, sum by (le) (rate(cardea_request_duration_seconds_bucket{${TOOL}}[R])))`,
    ),
    stat(
      "p99",
      { unit: "s", width: 6, steps: [["green"], ["orange", 1], ["red", 5]] },
      `histogram_quantile(0.99, sum by (le) (rate(cardea_request_duration_seconds_bucket{${TOOL}}[R])))`,
    ),
    row("Over time"),
    chart("Calls by gateway", { unit: "reqps", width: 12, stacked: true }, [
      `sum by (instance) (rate(cardea_request_duration_seconds_count{${TOOL}}[R]))`,
      "{{instance}}",
    ]),
    chart(
      "Errors by kind",
      {
        unit: "reqps",
        width: 12,
        stacked: true,
        description: "A code of JSON-RPC or tool_error; of tools of this name at all servers.",
      },
      [
        'sum by (error_type) (rate(mcp_server_operation_duration_seconds_count{AT,gen_ai_tool_name=~"$tool",error_type!=""}[R]))',
        "{{error_type}}",
      ],
    ),
    chart(
      "How long calls take",
      { unit: "s", width: 12, description: "Without waiting for a person or a model." },
      ...QUANTILES.map((quantile) => [
        `histogram_quantile(${quantile}, sum by (le) (rate(cardea_request_duration_seconds_bucket{${TOOL}}[R])))`,
        `p${quantile * 100}`,
      ]),
    ),
    chart(
      "Through call_tool",
      { unit: "reqps", width: 12, description: "Found with find_tools, by outcome." },
      [`sum by (outcome) (rate(cardea_search_calls_total{${TOOL}}[R]))`, "{{outcome}}"],
    ),
  ],
};
