/** Every message that the gateway sends, to hosts and to servers, is what the official schema says it must be. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { inRepository, MAIN, writeConfig } from "../support/cardea.js";
import { type Era, fixtureCommand, startFixture, type Transport } from "../support/fixture.js";
import { metGateway } from "../support/met-gateway.js";
import { ASKABLE } from "../support/peers/askable.js";
import { type Json, type Place, whenListed } from "../support/peers/host.js";
import { openLegacy, openModern, type RawHost } from "../support/peers/raw.js";
import { pairwise, sample } from "../support/sample.js";
import { type Recorded, tapHttp } from "../support/tap.mjs";
import { checkTraffic, type Findings } from "../support/traffic.js";
import { until } from "../support/until.js";

const ERAS: readonly Era[] = ["legacy", "modern"];
const REVISION = { legacy: "2025-11-25", modern: "2026-07-28" } as const;
const TAP = inRepository("test/support/tap.mjs");

/** What went by between a host and the gateway, and between the gateway and a server. */
interface Traffic {
  readonly downstream: readonly Recorded[];
  readonly upstream: readonly Recorded[];
}

interface Tapped<T> {
  readonly place: T;
  recorded(): readonly Recorded[];
  close(): Promise<void>;
}

const tapped = (
  place: Extract<Place, { command: string }>,
  folder: string,
  name: string,
): Tapped<typeof place> => {
  const file = join(folder, name);
  const lines = (): readonly string[] =>
    existsSync(file) ? readFileSync(file, "utf8").trim().split("\n") : [];
  return {
    place: { command: process.execPath, args: [TAP, file, "--", place.command, ...place.args] },
    recorded: () => lines().map((line) => JSON.parse(line) as Recorded),
    close: async () => {},
  };
};
async function tappedUrl(url: string): Promise<Tapped<{ readonly url: string }>> {
  const recorded: Recorded[] = [];
  const tap = await tapHttp(url, (message) => recorded.push(message));
  return { place: { url: tap.url }, recorded: () => recorded, close: () => tap.close() };
}

/** Lets `act` be a host of a gateway with one server behind it, over one transport on both sides. */
async function listenIn(
  era: Era,
  transport: Transport,
  act: (place: Place) => Promise<void>,
): Promise<Traffic> {
  const folder = mkdtempSync(join(tmpdir(), "tap-"));
  const fixture = transport === "http" ? await startFixture(era, "http") : undefined;
  const upstream = fixture
    ? await tappedUrl(String(fixture.entry.url))
    : tapped(fixtureCommand(era), folder, "upstream.jsonl");
  const config = { mcpServers: { fix: upstream.place } };
  const { file, remove } = writeConfig(config);
  const gateway = transport === "http" ? await metGateway(config) : undefined;
  const downstream = gateway
    ? await tappedUrl(gateway.url)
    : tapped(
        { command: process.execPath, args: [MAIN, "stdio", "--config", file] },
        folder,
        "downstream.jsonl",
      );
  try {
    await act(downstream.place);
  } finally {
    await downstream.close();
    await gateway?.stop();
    await upstream.close();
    await fixture?.stop();
    await remove();
  }
  const traffic = { downstream: downstream.recorded(), upstream: upstream.recorded() };
  rmSync(folder, { recursive: true, force: true });
  return traffic;
}

/** Uses every method that there is in the era of the host, well and badly. */
const useEverything =
  (era: Era) =>
  async (place: Place): Promise<void> => {
    const host = await (era === "legacy" ? openLegacy : openModern)(place, { logLevel: "debug" });
    try {
      await callEverything(host);
    } finally {
      await host.close();
    }
  };

async function callEverything(host: RawHost): Promise<void> {
  await whenListed(host, "fix__echo");
  for (const list of ["tools", "prompts", "resources", "resourceTemplates"] as const) await host.list(list);
  const call = (name: string, args: Json = {}) => host.request("tools/call", { name, arguments: args });
  if (host.era === "legacy") {
    await host.request("logging/setLevel", { level: "debug" });
    await host.request("ping", {});
  }
  const heard: Json[] = [];
  const stop = await host.follow({ toolsListChanged: true }, (message) => heard.push(message));

  await call("fix__echo", { value: [1, { deep: null }] });
  await call("fix__test_multiple_content_types");
  await call("fix__test_resource_link");
  await call("fix__test_error_handling");
  await call("fix__test_x_mcp_header", { region: "Zürich" });
  await call("no_such_tool");
  await host.request("prompts/get", { name: "fix__test_simple_prompt" });
  await host.request("prompts/get", { name: "fix__no_such_prompt" });
  await host.request("resources/read", { uri: "fix+test://static-binary" });
  await host.request("resources/read", { uri: "fix+test://template/7/data" });
  await host.request("resources/read", { uri: "fix+test://no-such-thing" });
  await host.request("tools/list", { cursor: "made up" });
  await host.request("no/such/method", {});
  await host.request("completion/complete", {
    ref: { type: "ref/prompt", name: "fix__test_prompt_with_arguments" },
    argument: { name: "arg1", value: "par" },
  });
  await host.send("working", "tools/call", {
    name: "fix__work",
    arguments: { label: "wire", steps: 2, stepMs: 5 },
    _meta: { progressToken: "token" },
  });
  await cancelOne(host);
  await call("fix__test_trigger_tool_change");
  await until("the news of the tools", () =>
    heard.some(({ method }) => method === "notifications/tools/list_changed"),
  );
  await stop();
}

/** Calls every tool that asks, as a host that answers. */
const answerEverything =
  (era: Era) =>
  async (place: Place): Promise<void> => {
    const kind = ASKABLE.find((one) => one.name === `SDK 2.4 ${era}`);
    const host = await kind?.connect(place, {
      elicit: () => ({ action: "accept", content: { name: "eve", ok: true, color: "blue" } }),
      sample: () => ({ role: "assistant", model: "m", content: { type: "text", text: "yes" } }),
      roots: () => ({ roots: [{ uri: "file:///home", name: "home" }] }),
    });
    try {
      await until("the tools", async () => (await host?.listTools())?.includes("fix__echo"));
      for (const name of [
        "test_input_required_result_multiple_inputs",
        "test_input_required_result_multi_round",
        "test_input_required_result_request_state",
        "test_elicitation_sep1034_defaults",
        "test_elicitation_sep1330_enums",
      ]) {
        await host?.call(`fix__${name}`);
      }
    } finally {
      await host?.close();
    }
  };

async function cancelOne(host: RawHost): Promise<void> {
  const letGo = new AbortController();
  await new Promise<void>((resolve) => {
    const params = {
      name: "fix__work",
      arguments: { label: "doomed", steps: 1000, stepMs: 10 },
      _meta: { progressToken: 2 },
    };
    host
      .send("doomed", "tools/call", params, { signal: letGo.signal, onMessage: () => resolve() })
      .catch(() => {});
  });
  await host.cancel("doomed", letGo);
  letGo.abort();
}

/** What must have gone by at least, so that the test cannot pass by hearing nothing. */
const TO_HOST = [
  ...["tools/list", "prompts/list", "resources/list", "resources/templates/list", "tools/call"],
  ...["prompts/get", "resources/read", "completion/complete"],
].map((method) => `answer to ${method}`);
const NEWS = ["notifications/tools/list_changed", "notifications/progress", "notifications/message"];
const TO_SERVER = [
  ...["tools/list", "prompts/list", "resources/list", "resources/templates/list", "tools/call"],
  ...["prompts/get", "resources/read", "completion/complete"],
];

/** A modern peer is asked in the answer to its call, and answers by calling again. */
const ASKED = ["elicitation/create", "sampling/createMessage", "roots/list"];
const QUESTIONS = { legacy: ASKED, modern: ["answer to tools/call"] };
const ANSWERS = { legacy: ASKED.map((method) => `answer to ${method}`), modern: ["tools/call"] };

const expectAll = ({ seen, wrong }: Findings, revision: string, methods: readonly string[]): void => {
  expect(wrong).toEqual([]);
  expect([...seen]).toEqual(expect.arrayContaining(methods.map((method) => `${revision} ${method}`)));
};

const CASES = ERAS.flatMap((host) =>
  ERAS.flatMap((upstream) =>
    (["questions", "every method"] as const).map((what) => [host, upstream, what] as const),
  ),
);
const OVER: readonly (readonly [Transport, typeof CASES])[] = [
  ["http", pairwise("wire over HTTP", CASES, (one) => one)],
  ["stdio", sample("wire over stdio", CASES, 2)],
];

describe.concurrent.each(OVER)("over %s", (transport, cases) => {
  test.each(cases)("a %s host and a %s server exchange valid messages: %s", async (host, upstream, what) => {
    if (what === "questions") await exchangeQuestions(host, upstream, transport);
    else await exchangeEverything(host, upstream, transport);
  });
});

async function exchangeQuestions(host: Era, upstream: Era, transport: Transport): Promise<void> {
  const traffic = await listenIn(upstream, transport, answerEverything(host));
  const [asks, answers] = [QUESTIONS[host], ANSWERS[upstream]];
  expectAll(checkTraffic(traffic.downstream, "server"), REVISION[host], asks);
  expectAll(checkTraffic(traffic.upstream, "client"), REVISION[upstream], answers);
}

async function exchangeEverything(host: Era, upstream: Era, transport: Transport): Promise<void> {
  const traffic = await listenIn(upstream, transport, useEverything(host));
  expectAll(checkTraffic(traffic.downstream, "server"), REVISION[host], [...TO_HOST, ...NEWS]);
  expectAll(checkTraffic(traffic.upstream, "client"), REVISION[upstream], TO_SERVER);
  // The test's own host is held to the same; what it asks for by a wrong name is still well formed.
  expect(checkTraffic(traffic.downstream, "client").wrong).toEqual([]);
}
