import { describe, expect, test } from "vitest";
import { type Call, methodRoute, type Reply, type Route } from "../../../src/core/call.js";
import { result, wordOf } from "../../support/calls.js";
import { fakeCall } from "../../support/fake-call.js";
import { policyOf } from "./support.js";

/** A read at `files`, as `locate` has found its way. */
function reading(own: string, over: Partial<Route> = {}): Call {
  const exposed = `files+${own}`;
  const route: Route = { upstream: "files", target: own, exposed, kind: "resources", ...over };
  return fakeCall({ method: "resources/read", params: { uri: route.exposed }, route });
}

const nothing = { paths: [], patterns: [] };
const takesOut = (pattern: string) => ({
  arguments: nothing,
  results: { paths: [], patterns: [pattern] },
  replacement: "…",
});

test("what several readings of a URI are redacted of is all taken out", async () => {
  const { handle } = policyOf(
    {
      rules: [
        { resources: ["files+file:///logs/*"], effect: "redact", redact: takesOut("key-[0-9]+") },
        { resources: ["files+file:///users/*"], effect: "redact", redact: takesOut("[a-z]+@test") },
      ],
    },
    async () => result({ contents: [{ uri: "x", text: "key-1 of ann@test" }] }),
  );
  const textOf = (reply: Reply): unknown => reply.kind === "result" && reply.result.object.contents;
  const plain = await handle(reading("file:///logs/a"));
  expect(textOf(plain)).toEqual([{ uri: "x", text: "… of ann@test" }]);
  const odd = await handle(reading("file:///logs/../users/a"));
  expect(textOf(odd)).toEqual([{ uri: "x", text: "… of …" }]);
});

describe("a limit", () => {
  const limits = [
    { resources: ["files+file:///big/*"], rate: { count: 1, windowMs: 60_000 }, per: "tool" as const },
  ];

  test("counts a resource once, however its URI is written", async () => {
    const { handle } = policyOf({ limits });
    const words: string[] = [];
    for (const own of [
      "file:///big/a",
      "file:/big/a",
      "file:///%62ig/a",
      "file:///x/../big/a#y",
      "file:///big/b",
    ]) {
      words.push(wordOf(await handle(reading(own))));
    }
    expect(words).toEqual(["result", "rate_limited", "rate_limited", "rate_limited", "result"]);
  });

  test("is about a URI with more readings than the limit", async () => {
    const { handle } = policyOf({ limits });
    const own = `file:///${"%252e%c0%ae\\;//./".repeat(500)}`;
    expect(wordOf(await handle(reading(own)))).toBe("result");
    expect(wordOf(await handle(reading(own)))).toBe("rate_limited");
  });
});

describe("a rule that denies", () => {
  test.each([
    ["http://intra.test/secret/*", "http://intra.test/secret/x"],
    ["ui://files/panel/*", "ui://panel/x"],
    ["files+file:///secret/*", "//secret/x"],
    ["files+file:///secret/*", "/pub/%2e%2e/secret/x"],
    ["files+file:///C:/secret/*", "file:///c|/secret/x"],
    ["files+file://nas/secret/*", "file:////nas/secret/x"],
    ["files+notes://rows/secret*", "notes://rows:1/secret1"],
    ["files+sftp://host/*.pem", "sftp://host/key.pem;type=a"],
  ])("%s is about what hosts write as files+ and %s", async (pattern, own) => {
    const { handle } = policyOf({ rules: [{ resources: [pattern], effect: "deny" }] });
    expect(wordOf(await handle(reading(own)))).toBe("denied");
  });
});

test("a method with very many URIs is evaluated in steps, without blocking other calls", async () => {
  const { handle } = policyOf({ rules: [{ resources: ["files+file:///secret/*"], effect: "deny" }] });
  const named = Array.from({ length: 200 }, (_, at) => {
    const { route } = reading(`file:///${at}/${"%2e%2e/a;b//".repeat(100)}${at}`);
    return { route: route as Route, surely: true };
  });
  let turns = 0;
  let isDone = false;
  const count = (): void => {
    turns += 1;
    if (!isDone) setImmediate(count);
  };
  setImmediate(count);
  const call = fakeCall({ method: "ops/run", params: {}, route: methodRoute("files", "ops/run", named) });
  expect(wordOf(await handle(call))).toBe("result");
  isDone = true;
  expect(turns).toBeGreaterThan(20);
});
