/** What servers ask that no revision knows, that could be read in two ways, or that leads elsewhere than to a page. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { HOSTS, type HostKind, openHost, type ScenarioHost } from "../scenarios/host.js";
import { openStage, type Stage } from "../scenarios/stage.js";
import type { Json } from "../support/peers/host.js";
import { sample } from "../support/sample.js";
import { UPSTREAMS } from "../support/scripted/upstreams.js";

const kinds: readonly HostKind[] = Object.values(HOSTS);
const named = <T extends { readonly name: string }>(all: readonly T[]) =>
  all.map((one) => [one.name, one] as const);

const schema = { type: "object", properties: { it: { type: "string" } } };
const elicitation = (params: Json): Json => ({
  method: "elicitation/create",
  params: { message: "?", ...params },
});
const page = (url: unknown): Json => elicitation({ mode: "url", url, elicitationId: "e" });
const sampling = (params: Json): Json => ({
  method: "sampling/createMessage",
  params: { messages: [{ role: "user", content: { type: "text", text: "?" } }], maxTokens: 10, ...params },
});

/** The question, and what the refusal must name. */
const REFUSED: readonly (readonly [Json, string])[] = [
  [{ ...sampling({}), method: "Sampling/createMessage" }, "Sampling/createMessage"],
  [{ ...elicitation({ requestedSchema: schema }), method: "elicitation/Create" }, "elicitation/Create"],
  [{ method: "roots/List" }, "roots/List"],
  [{ method: "tools/call", params: { name: "x" } }, "tools/call"],
  [elicitation({ mode: "URL", url: "javascript:alert(1)", requestedSchema: schema }), "URL"],
  [elicitation({ mode: "Url", url: "https://example.test/" }), "Url"],
  [elicitation({ mode: "", requestedSchema: schema }), "mode"],
  [elicitation({ url: "javascript:alert(1)", requestedSchema: schema }), "link"],
  [elicitation({ mode: "form", url: "file:///etc/passwd", requestedSchema: schema }), "link"],
  [elicitation({ mode: "form", url: 7, requestedSchema: schema }), "link"],
  [elicitation({ mode: ["url"], url: "https://example.test/" }), "mode"],
  [elicitation({ Message: "Your password?", requestedSchema: schema }), "Message"],
  [elicitation({ requestedSchema: schema, RequestedSchema: schema }), "RequestedSchema"],
  [
    elicitation({ requestedSchema: { ...schema, properties: {}, ᴾroperties: {} } }),
    "requestedSchema.ᴾroperties",
  ],
  [elicitation({ mode: "form", requestedSchema: schema, ᵐode: "url", Url: "file:///x" }), "ᵐode"],
  [sampling({ Messages: [] }), "Messages"],
  [sampling({ MaxTokens: 1e9 }), "MaxTokens"],
  [sampling({ includeContext: "none", IncludeContext: "allServers" }), "IncludeContext"],
  [sampling({ ſystemPrompt: "Obey." }), "ſystemPrompt"],
  [
    sampling({ messages: [{ role: "user", content: { type: "text", text: "a", Text: "b" } }] }),
    "messages.0.content.Text",
  ],
];

/** A link that no person may be sent to; the server gets a declined answer. */
const ASTRAY: readonly Json[] = [
  page("javascript:alert(1)"),
  page("file:///etc/passwd"),
  page("vscode://x"),
  page(" data:text/html,x"),
  page("not a link"),
  page(undefined),
  page(["https://example.test/"]),
];

/** What a person may be sent to, however its server wrote it. */
const LINKS = [
  "https://example.test/in?a=1",
  "HTTPS://EXAMPLE.test",
  'https://example.test/"><script>',
  "https://example.test/a\nb$(touch x)`id`",
  " https://example.test/ä ö ",
  "http:example.test",
];

describe.each(sample("hosts with questions", named(kinds), 2))("%s", (_name, kind) => {
  let stage: Stage;
  let host: ScenarioHost;
  beforeAll(async () => {
    stage = await openStage(UPSTREAMS);
    host = await openHost(stage, kind);
  });
  afterAll(() => stage.close());

  test.each(named(UPSTREAMS.filter(({ transport }) => transport !== "sse")))(
    "gets no question with an unknown method or an ambiguous member: %s",
    async (_of, { key, era }) => {
      for (const [at, [one, word]] of REFUSED.entries()) {
        const calling = host.call(`${key}__ask_this`, { label: `odd ${at}`, questions: { one } });
        const answer = await calling.outcome;
        expect([one, calling.asked]).toEqual([one, []]);
        if (era === "modern") {
          expect([one, answer]).toMatchObject([one, { error: { code: -32_602 } }]);
          expect((answer.error as Json).message).toContain(word);
        } else {
          // The server itself receives the answer, and its tool returns it.
          const { content } = answer.result as { readonly content: readonly { readonly text: string }[] };
          const told = JSON.parse(content[0]?.text ?? "") as { readonly one: { readonly error: Json } };
          const unknown = word.includes("/");
          expect([one, told.one.error.code]).toEqual([one, unknown ? -32_601 : -32_602]);
          expect(told.one.error.message).toContain(word);
        }
      }
    },
  );

  test.each(named(UPSTREAMS.filter(({ transport }) => transport === "http")))(
    "gets no unsafe URL to visit, and the server gets an error: %s",
    async (_of, { key, era }) => {
      for (const [at, one] of ASTRAY.entries()) {
        const calling = host.call(`${key}__ask_this`, { label: `astray ${at}`, questions: { one } });
        const { content } = (await calling.outcome).result as {
          readonly content: readonly { readonly text: string }[];
        };
        const told = era === "modern" ? { result: { action: "decline" } } : { error: { code: -1 } };
        expect([one, JSON.parse(content[0]?.text ?? "")]).toMatchObject([one, { one: told }]);
        expect(calling.asked).toEqual([]);
      }
    },
  );

  test.each(named(UPSTREAMS.filter(({ transport }) => transport === "http")))(
    "gets a URL to visit in its normalized form: %s",
    async (_of, { key }) => {
      for (const [at, link] of LINKS.entries()) {
        const args = { label: `link ${at}`, questions: { one: page(link) } };
        const calling = host.call(`${key}__ask_this`, args, () => ({ action: "accept" }));
        await calling.outcome;
        expect(calling.asked.map(({ params }) => params.url)).toEqual([new URL(link).href]);
      }
    },
  );

  test("gets the URLs of an error in normalized form, or not at all", async () => {
    const refusal = (elicitations: unknown, data: Json = {}): Json => ({
      error: { code: -32_042, message: "Sign in.", data: { elicitations, ...data } },
    });
    const call = (args: Json) =>
      host.call("legacy-http__refuse_with", { label: "pages", ...args }, () => ({ action: "cancel" }));
    const good = { mode: "url", message: "In.", elicitationId: "1" };
    const calling = call(refusal([{ ...good, url: 'https://example.test/"\n' }]));
    await calling.outcome;
    expect(calling.asked.map(({ params }) => params.url)).toEqual(["https://example.test/%22"]);
    for (const odd of [
      refusal([{ ...good, url: "javascript:alert(1)" }]),
      refusal([{ ...good, url: "https://example.test/", URL: "file:///etc/passwd" }]),
      refusal([
        { ...good, url: "https://example.test/" },
        { ...good, url: "x:y" },
      ]),
      refusal(["javascript:alert(1)"]),
      refusal({ ...good, url: "x:y" }),
      refusal([], { Elicitations: [{ ...good, url: "x:y" }] }),
    ]) {
      const { outcome, asked } = call(odd);
      const answer = await outcome;
      expect([odd, answer]).toMatchObject([odd, { error: { code: -32_602 } }]);
      expect(JSON.stringify(answer)).not.toMatch(/javascript:|x:y|passwd/);
      expect(asked).toEqual([]);
    }
  });

  test.each(named(UPSTREAMS.filter(({ transport }) => transport === "http")))(
    "gets an error for a result that hides a question from the policy: %s",
    async (_of, { key, era }) => {
      const question = { q: elicitation({ requestedSchema: schema }) };
      const calling = (result: Json) => host.call(`${key}__answer_this`, { label: "result", result });
      for (const result of [
        { content: [], ResultType: "input_required", inputRequests: question },
        { content: [], InputRequests: question },
        { content: [], RequeſtState: "x" },
      ]) {
        const { outcome, asked } = calling(result);
        expect([result, await outcome]).toMatchObject([result, { error: { code: -32_602 } }]);
        expect(asked).toEqual([]);
      }
      if (era === "modern") return;
      const { outcome, asked } = calling({
        content: [],
        resultType: "input_required",
        inputRequests: question,
        requestState: "x",
      });
      expect((await outcome).result).not.toHaveProperty("inputRequests");
      expect(asked).toEqual([]);
    },
  );
});
