import { beforeEach, describe, expect, test, vi } from "vitest";
import { type Call, compose, observerMiddleware, type Reply } from "../../src/core/call.js";
import { GatewayError } from "../../src/core/errors.js";
import { SILENT } from "../../src/core/logger.js";
import { errorBoundary } from "../../src/resilience/error-boundary.js";
import { callMetrics, upstreamMetrics } from "../../src/telemetry/finished-calls.js";
import { Metrics } from "../../src/telemetry/metrics.js";
import { fakeCall, rawResult, textResult, unroutedCall } from "../support/fake-call.js";

let metrics: Metrics;
beforeEach(() => {
  metrics = new Metrics({ version: "1.2.3", process: false });
});

/** The value of one series, as a scrape sees it; undefined when it is not there. */
async function sample(series: string): Promise<number | undefined> {
  const line = (await metrics.text()).split("\n").find((line) => line.startsWith(`${series} `));
  return line === undefined ? undefined : Number(line.slice(series.length + 1));
}

const run = (call: Call, handler: () => Promise<Reply>): Promise<Reply> =>
  compose(
    [observerMiddleware([callMetrics(metrics.calls)]), errorBoundary(SILENT), upstreamMetrics(metrics.calls)],
    handler,
  )(call);

describe("calls", () => {
  test("a call is counted by method, server and outcome, and timed by tool", async () => {
    await run(fakeCall(), async () => textResult("hello"));
    const labels = 'method="tools/call",server="files"';
    expect(await sample(`cardea_requests_total{${labels},outcome="ok"}`)).toBe(1);
    expect(await sample(`cardea_request_duration_seconds_count{${labels},tool="read"}`)).toBe(1);
    const operation = 'mcp_method_name="tools/call",gen_ai_tool_name="read",error_type=""';
    expect(await sample(`mcp_server_operation_duration_seconds_count{${operation}}`)).toBe(1);
    expect(await sample(`mcp_client_operation_duration_seconds_count{${operation}}`)).toBe(1);
  });

  test("durations are seconds", async () => {
    vi.useFakeTimers();
    try {
      await run(fakeCall(), async () => {
        vi.advanceTimersByTime(1500);
        return textResult("at last");
      });
    } finally {
      vi.useRealTimers();
    }
    const labels = 'method="tools/call",server="files",tool="read"';
    expect(await sample(`cardea_request_duration_seconds_sum{${labels}}`)).toBe(1.5);
  });

  test("what a caller makes up never becomes a label", async () => {
    for (let i = 0; i < 50; i += 1) {
      await run(unroutedCall(`made/up/${i}`, { name: `tool-${i}` }), async () => textResult("?"));
      await run(unroutedCall("tools/call", { name: `tool-${i}` }), async () => {
        throw new GatewayError("unknown_target", "downstream", "unknown tool");
      });
    }
    expect(await metrics.text()).not.toMatch(/made|tool-/);
    expect(await sample('cardea_requests_total{method="other",server="none",outcome="ok"}')).toBe(50);
    expect(
      await sample('cardea_requests_total{method="tools/call",server="none",outcome="unknown_target"}'),
    ).toBe(50);
  });

  test("a call for an unreachable server counts as its, without the name of a tool", async () => {
    await run(unroutedCall("tools/call", { name: "files__read" }), async () => {
      throw new GatewayError("upstream_unavailable", "upstream", "server files is not available", {
        server: "files",
      });
    });
    const labels = 'method="tools/call",server="files",outcome="upstream_unavailable"';
    expect(await sample(`cardea_requests_total{${labels}}`)).toBe(1);
  });

  test("a server with more than 200 tools shares one label among the rest", async () => {
    for (let i = 0; i < 250; i += 1) {
      const route = { upstream: "big", target: `t${i}`, exposed: `big__t${i}`, kind: "tools" } as const;
      await run(fakeCall({ route }), async () => textResult("x"));
    }
    await run(fakeCall(), async () => textResult("x"));
    const durations = (await metrics.text())
      .split("\n")
      .filter((line) => line.startsWith("cardea_request_duration_seconds_count"));
    expect(durations).toHaveLength(202);
    expect(
      await sample(
        'cardea_request_duration_seconds_count{method="tools/call",server="big",tool="__other__"}',
      ),
    ).toBe(50);
  });

  test("the calls of each tool are known, refused ones too, unless a server has too many tools", async () => {
    await run(fakeCall(), async () => textResult("x"));
    await run(fakeCall(), async () => {
      throw new GatewayError("denied", "gateway", "no");
    });
    expect(metrics.calls.toolCalls("files")).toEqual(new Map([["read", 2]]));
    expect(metrics.calls.toolCalls("other")).toEqual(new Map());
    for (let i = 0; i <= 200; i++) {
      const route = { upstream: "big", target: `t${i}`, exposed: `big__t${i}`, kind: "tools" } as const;
      await run(fakeCall({ route }), async () => textResult("x"));
    }
    expect(metrics.calls.toolCalls("big")).toBeUndefined();
  });

  test("a tool with a very long name counts as __other__", async () => {
    const target = "t".repeat(201);
    const route = { upstream: "big", target, exposed: `big__${target}`, kind: "tools" } as const;
    await run(fakeCall({ route }), async () => textResult("x"));
    expect(await metrics.text()).not.toContain(target);
    const series = 'cardea_request_duration_seconds_count{method="tools/call",server="big",tool="__other__"}';
    expect(await sample(series)).toBe(1);
  });

  test.each<[string, Reply, outcome: string, serverSees: string, clientSees: string]>([
    ["a tool's own failure", rawResult('{"isError":true}'), "tool_error", "tool_error", "tool_error"],
    ["invalid parameters", errorReply(-32602), "tool_error", "", "-32602"],
    ["an internal error", errorReply(-32603), "tool_error", "-32603", "-32603"],
    ["a code nobody knows", errorReply(-1234), "tool_error", "_OTHER", "_OTHER"],
    ["a question", { kind: "input_required", requests: {} }, "input_required", "", ""],
  ])("%s has a separate label", async (_, reply, outcome, serverSees, clientSees) => {
    await run(fakeCall(), async () => reply);
    const text = await metrics.text();
    expect(text).toContain(`outcome="${outcome}"} 1`);
    const operation = (error: string) =>
      `{mcp_method_name="tools/call",gen_ai_tool_name="read",error_type="${error}"} 1`;
    expect(text).toContain(`mcp_server_operation_duration_seconds_count${operation(serverSees)}`);
    expect(text).toContain(`mcp_client_operation_duration_seconds_count${operation(clientSees)}`);
  });

  test("a refusal that reaches the model as a result is still counted as a refusal", async () => {
    await run(fakeCall(), async () => {
      throw new GatewayError("timed_out", "upstream", "too slow");
    });
    const text = await metrics.text();
    expect(text).toContain('outcome="timed_out"} 1');
    expect(text).toContain('error_type="-31504"} 1');
    expect(text).toContain('mcp_client_operation_duration_seconds_count{mcp_method_name="tools/call"');
  });
});

describe("everything else that is recorded", () => {
  test("build information and the last reload are there from the start", async () => {
    expect(await sample(`cardea_build_info{version="1.2.3",node="${process.version}"}`)).toBe(1);
    expect(await sample("cardea_config_last_reload_successful")).toBe(1);
    metrics.configReloaded(false);
    expect(await sample("cardea_config_last_reload_successful")).toBe(0);
  });

  test("each recording function feeds its metric", async () => {
    metrics.restarted("files", "lost");
    metrics.listChanged("files", "tools");
    metrics.authFailed("expired");
    metrics.inputWaited({ server: "files", kind: "elicitation", seconds: 42 });
    const text = await metrics.text();
    expect(text).toContain('cardea_upstream_restarts_total{server="files",reason="lost"} 1');
    expect(text).toContain('cardea_list_changed_total{server="files",list="tools"} 1');
    expect(text).toContain('cardea_auth_failures_total{reason="expired"} 1');
    expect(text).toContain('cardea_input_wait_seconds_sum{server="files",kind="elicitation"} 42');
  });

  test("a reading is taken at each scrape and ends when its owner ends it", async () => {
    let up = 1;
    const end = metrics.gauge("upstreamUp", { server: "files" }, () => up);
    metrics.gauge("upstreamUp", { server: "git" }, () => 1);
    expect(await sample('cardea_upstream_up{server="files"}')).toBe(1);
    up = 0;
    expect(await sample('cardea_upstream_up{server="files"}')).toBe(0);
    end();
    expect(await sample('cardea_upstream_up{server="files"}')).toBeUndefined();
    expect(await sample('cardea_upstream_up{server="git"}')).toBe(1);
  });

  test("an owner that was replaced does not end its successor's reading", async () => {
    const endOld = metrics.gauge("sessions", { era: "legacy" }, () => 1);
    metrics.gauge("sessions", { era: "legacy" }, () => 2);
    endOld();
    expect(await sample('cardea_sessions{era="legacy"}')).toBe(2);
  });

  test("unread members are not advertised", async () => {
    expect(await metrics.text()).not.toContain("cardea_parked_calls");
    metrics.gauge("parkedCalls", {}, () => 3);
    expect(await sample("cardea_parked_calls")).toBe(3);
  });

  test("the process is measured too", async () => {
    expect(await new Metrics({ version: "1" }).text()).toMatch(/^process_resident_memory_bytes \d+$/m);
  });
});

function errorReply(code: number): Reply {
  return { kind: "error", error: { code, message: "no" } };
}

test("no gauge has the ending of a counter, which promtool check metrics refuses", async () => {
  const text = await new Metrics({ version: "1", process: true }).text();
  expect(text).toContain("# TYPE nodejs_active_handles gauge");
  expect([...text.matchAll(/^# TYPE (\S+_total) (?!counter$).*$/gm)].map(([line]) => line)).toEqual([]);
});
