/** What a host has said that it can answer is what it is asked, whichever revision it came with; and all of it, or nothing. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Json } from "../support/peers/host.js";
import { sample } from "../support/sample.js";
import { countOf } from "../support/scripted/ledger.js";
import { SAMPLING, SAMPLING_WITH_TOOLS } from "../support/scripted/tools.mjs";
import { UPSTREAMS } from "../support/scripted/upstreams.js";
import { type Answer, HOSTS, openHost } from "./host.js";
import { openStage, type Stage } from "./stage.js";

const named = <T extends { readonly name: string }>(all: readonly T[]) =>
  all.map((one) => [one.name, one] as const);
const LEGACY = Object.values(HOSTS).filter(({ era }) => era === "legacy");
const MODERN = Object.values(HOSTS).filter(({ era }) => era === "modern");
const SERVERS = UPSTREAMS.filter(({ transport }) => transport !== "sse");

let stage: Stage;
beforeAll(async () => {
  stage = await openStage(UPSTREAMS);
});
afterAll(() => stage.close());

let labels = 0;
function newLabel(): string {
  labels += 1;
  return `declared ${labels}`;
}

const schema = { type: "object", properties: { it: { type: "string" } } };
const page = {
  method: "elicitation/create",
  params: { mode: "url", message: "Sign in.", url: "https://example.test/", elicitationId: "e" },
};
const form = {
  method: "elicitation/create",
  params: { mode: "form", message: "?", requestedSchema: schema },
};

describe.each(named(sample("modern hosts that declare", MODERN, 1)))("%s", (_name, kind) => {
  const undeclared = [
    ["a page, where it declared forms", { elicitation: { form: {} } }, page, { elicitation: { url: {} } }],
    ["a page, where it declared no mode", { elicitation: {} }, page, { elicitation: { url: {} } }],
    ["a form, where it declared pages", { elicitation: { url: {} } }, form, { elicitation: { form: {} } }],
    ["a model with tools", { sampling: {} }, SAMPLING_WITH_TOOLS, { sampling: { tools: {} } }],
    ["a model with a choice of none", { sampling: { context: {} } }, choice(), { sampling: { tools: {} } }],
    ["the roots, where it declared a text", { roots: "yes" }, { method: "roots/list" }, { roots: {} }],
  ] as const;

  test.each(undeclared)(
    "gets no question without the declared capability: %s",
    async (_what, capabilities, one, required) => {
      const host = await openHost(stage, kind, { capabilities });
      const label = newLabel();
      const { outcome, asked } = host.call("modern-http__ask_this", { label, questions: { one } });
      expect((await outcome).error).toMatchObject({
        code: -32_021,
        data: { requiredCapabilities: required },
      });
      expect(asked).toEqual([]);
      await host.leave();
    },
  );

  test.each(undeclared.slice(0, -1))(
    "gets no question of a legacy server without the declared capability, and the server gets an error: %s",
    async (_what, capabilities, one) => {
      const host = await openHost(stage, kind, { capabilities });
      const args = { label: newLabel(), questions: { one } };
      const { outcome, asked } = host.call("legacy-http__ask_this", args);
      expect(await outcome).toMatchObject({
        result: { content: [{ text: expect.stringContaining('"code":-32602') }] },
      });
      expect(asked).toEqual([]);
      await host.leave();
    },
  );

  test.each([
    ["a page", { elicitation: { url: {} } }, page],
    ["a form", { elicitation: {} }, form],
    ["a model with tools", { sampling: { tools: {} } }, SAMPLING_WITH_TOOLS],
  ] as const)("gets the questions whose capability it declared: %s", async (_what, capabilities, one) => {
    const host = await openHost(stage, kind, { capabilities });
    const args = { label: newLabel(), questions: { one } };
    const { outcome, asked } = host.call("modern-http__ask_this", args, () => ({ action: "accept" }));
    expect((await outcome).error).toBeUndefined();
    expect(asked).toHaveLength(1);
    await host.leave();
  });
});

describe.each(named(sample("legacy hosts that declare", LEGACY, 1)))("%s", (_name, kind) => {
  const ways = (["2025-11-25", "2025-06-18"] as const).flatMap((revision) =>
    SERVERS.map((server) => [revision, server.name, server] as const),
  );

  test.each(ways)("of %s with URL elicitation gets a URL question of %s", async (revision, _of, { key }) => {
    const capabilities = { elicitation: { form: {}, url: {} } };
    const host = await openHost(stage, kind, { revision, capabilities });
    const calling = host.call(`${key}__url`, { label: newLabel() }, () => ({ action: "accept" }));
    expect(await calling.outcome).toMatchObject({
      result: { content: [{ text: expect.stringContaining("accept") }] },
    });
    expect(calling.asked).toMatchObject([
      { params: { mode: "url", url: "https://example.test/in?a=1", elicitationId: expect.any(String) } },
    ]);
    await host.leave();
  });

  test.each(ways.filter(([revision]) => revision === "2025-06-18"))(
    "of %s with other elicitation modes gets a form question of %s",
    async (revision, _of, { key }) => {
      const host = await openHost(stage, kind, {
        revision,
        capabilities: { elicitation: { applyDefaults: true } },
      });
      const calling = host.call(`${key}__form`, { label: newLabel() }, () => ({ action: "cancel" }));
      await calling.outcome;
      expect(calling.asked).toHaveLength(1);
      await host.leave();
    },
  );

  test.each(named(SERVERS.filter(({ era }) => era === "modern")))(
    "that refuses one of two questions has its call ended, and %s gets no retry without the answer",
    async (_of, upstream) => {
      const host = await openHost(stage, kind);
      const onlyForms: Answer = ({ method }) => {
        if (method === "sampling/createMessage") throw new Error("no");
        return { action: "accept", content: { it: "x" } };
      };
      const label = newLabel();
      const questions: Json = { one: SAMPLING, two: form };
      const { outcome } = host.call(`${upstream.key}__ask_this`, { label, questions }, onlyForms);
      expect((await outcome).result).toMatchObject({
        isError: true,
        content: [
          { text: expect.stringContaining("needs an answer that the client cannot give or refused") },
        ],
        _meta: { "cardea/refusal": { code: "denied" } },
      });
      const ledger = stage.upstream(upstream).ledger();
      expect([countOf(ledger, "begun", label), countOf(ledger, "resumed", label)]).toEqual([1, 0]);
      await host.leave();
    },
  );
});

function choice() {
  return { ...SAMPLING, params: { ...SAMPLING.params, toolChoice: { mode: "none" } } };
}
