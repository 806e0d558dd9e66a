/**
 * Questions that belong to no call, or to one of several: evaluated as if they could concern anything of the server.
 */
import { describe, expect, test } from "vitest";
import type { Route } from "../../../src/core/call.js";
import type { GatewayError } from "../../../src/core/errors.js";
import type { JsonObject } from "../../../src/wire/json.js";
import { clientOf, routeTo } from "../../support/calls.js";
import { type GivenPolicy, policyOf } from "./support.js";

const PROMPT: Route = { upstream: "db", target: "wipe", exposed: "db__wipe", kind: "prompts" };
const TARGETS = [routeTo("db", "read"), routeTo("db", "drop"), PROMPT];
const form = { method: "elicitation/create", params: { mode: "form", message: "Your password?" } };
const page = (url: string) => ({ method: "elicitation/create", params: { mode: "url", message: "Go", url } });
const sampling = {
  method: "sampling/createMessage",
  params: { messages: [], maxTokens: 500, includeContext: "x" },
};

/** The question as it may be asked, or the error that the server is answered with. */
function asked(given: GivenPolicy, question: JsonObject): unknown {
  const { policy } = policyOf(given);
  try {
    return policy.question(clientOf(), "db", TARGETS, question);
  } catch (error) {
    const { code, options } = error as GatewayError;
    return [code, options.rpc];
  }
}

const REFUSED = ["denied", -1];

describe("a question that belongs to no call", () => {
  test("is asked where no rule denies it", () => {
    expect(asked({}, form)).toEqual(form);
    expect(asked({ rules: [{ on: "elicitation", servers: ["other"], effect: "deny" }] }, form)).toEqual(form);
    expect(asked({}, { method: "roots/list" })).toEqual({ method: "roots/list" });
  });

  test("is refused by a rule about its server, or about its text", () => {
    expect(asked({ rules: [{ on: "elicitation", effect: "deny" }] }, form)).toEqual(REFUSED);
    const when = "request.message.matches('(?i)password')";
    expect(asked({ rules: [{ on: "elicitation", when, effect: "deny" }] }, form)).toEqual(REFUSED);
    expect(asked({ default: "deny" }, form)).toEqual(REFUSED);
  });

  test("is refused where any tool of the server may not ask it: it could be on account of that one", () => {
    const rules = [{ on: "elicitation", tools: ["db__drop"], effect: "deny" }] as const;
    expect(asked({ rules }, form)).toEqual(REFUSED);
    const only = [{ on: "elicitation", tools: ["db__read"], effect: "allow" }] as const;
    expect(asked({ default: "deny", rules: only }, form)).toEqual(REFUSED);
  });

  test("is refused where a prompt or a resource of the server may not ask it", () => {
    expect(asked({ rules: [{ on: "elicitation", prompts: ["db__*"], effect: "deny" }] }, form)).toEqual(
      REFUSED,
    );
    expect(asked({ rules: [{ on: "elicitation", resources: ["*"], effect: "deny" }] }, form)).toEqual(form);
  });

  test("is refused when it sends a person to what is no page, whatever the rules say", () => {
    expect(asked({}, page("javascript:alert(1)"))).toEqual(REFUSED);
    expect(asked({}, page("https://example.test/"))).toEqual(page("https://example.test/"));
  });

  test("is evaluated with any arguments its call may have had", () => {
    const rules = [{ on: "elicitation", when: "args.env == 'prod'", effect: "deny" }] as const;
    expect(asked({ rules }, form)).toEqual(REFUSED);
    const only = [{ on: "elicitation", when: "args.env == 'test'", effect: "allow" }] as const;
    expect(asked({ default: "deny", rules: only }, form)).toEqual(REFUSED);
  });

  test("requests no more from a model than the strictest rule about any of its tools allows", () => {
    const rules = [
      { on: "sampling", tools: ["db__read"], effect: "allow", maxTokens: 300, stripContext: true },
      { on: "sampling", tools: ["db__drop"], effect: "allow", maxTokens: 100 },
    ] as const;
    expect(asked({ rules }, sampling)).toEqual({ ...sampling, params: { messages: [], maxTokens: 100 } });
  });

  test("counts towards limits, and is refused beyond them", () => {
    const limits = [{ on: "sampling", rate: { count: 1, windowMs: 60_000 }, per: "principal" }] as const;
    const { policy } = policyOf({ limits });
    const ask = () => policy.question(clientOf(), "db", TARGETS, sampling);
    expect(ask()).toEqual(sampling);
    expect(ask).toThrow("policy does not let this server use sampling");
  });

  test.each([{ tools: ["db__*"] }, { tools: ["db__drop"] }, { prompts: ["db__wipe"] }, { servers: ["db"] }])(
    "counts once towards each limit that is about something of its server: %j",
    (about) => {
      const limits = [
        { name: "two", on: "sampling", rate: { count: 2, windowMs: 60_000 }, ...about },
        { name: "others", on: "sampling", rate: { count: 1, windowMs: 60_000 }, tools: ["else__*"] },
      ] as const;
      const { policy } = policyOf({ limits });
      const ask = () => policy.question(clientOf(), "db", TARGETS, sampling);
      expect([ask(), ask()]).toEqual([sampling, sampling]);
      expect(ask).toThrow("policy does not let this server use sampling");
    },
  );

  test("is in the list of decisions", () => {
    const { policy } = policyOf({ rules: [{ name: "no-forms", on: "elicitation", effect: "deny" }] });
    expect(() => policy.question(clientOf(), "db", TARGETS, form)).toThrow("policy");
    expect(policy.decisions()).toMatchObject([
      { rule: "no-forms", effect: "deny", on: "elicitation", server: "db", principal: "ann" },
    ]);
  });
});
