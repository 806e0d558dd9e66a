/** What an error says of the body of an HTTP response that is no answer: the server's own words, short and clean. */
import { describe, expect, test } from "vitest";
import type { HttpOptions } from "../../../src/upstream/transport/http.js";
import { openSseChannel } from "../../../src/upstream/transport/sse.js";
import { failure, open, request, serve } from "./http-support.js";

const JSON_TYPE = "application/json";
const HTML = "text/html; charset=utf-8";

/** The message of the error of a call that is answered so. */
async function told(status: number, type: string, body: string | Buffer, options?: Partial<HttpOptions>) {
  const server = await serve((_, response) => {
    response.writeHead(status, type === "" ? {} : { "content-type": type }).end(body);
  });
  return (await failure(open(server.url, options).exchange(request))).message;
}

describe("an error quotes the server", () => {
  test.each([
    [
      403,
      JSON_TYPE,
      { message: "Resource not accessible by integration" },
      "Resource not accessible by integration",
    ],
    [
      403,
      JSON_TYPE,
      { error: "plan_required", error_description: "Upgrade to Pro." },
      "plan_required: Upgrade to Pro.",
    ],
    [422, JSON_TYPE, { detail: [{ loc: ["body", "q"], msg: "field required" }] }, "field required"],
    [
      422,
      "application/problem+json",
      { title: "Invalid", detail: "q is empty", status: 422 },
      "Invalid: q is empty",
    ],
    [
      500,
      JSON_TYPE,
      { error: { code: 13, message: "database is locked", status: "INTERNAL" } },
      "database is locked",
    ],
    [500, JSON_TYPE, { errors: [{ message: "no such field" }, { message: "second" }] }, "no such field"],
    [400, JSON_TYPE, { error: "quota exceeded" }, "quota exceeded"],
    [400, JSON_TYPE, { statusCode: 400, error: "Bad Request", message: ["name is empty"] }, "name is empty"],
    [400, JSON_TYPE, { title: "Not here" }, "Not here"],
    [502, "", { message: "upstream is asleep" }, "upstream is asleep"],
    [403, "text/plain", { message: "typed as text" }, "typed as text"],
    [409, JSON_TYPE, "already there", "already there"],
  ])("%i %s %j", async (status, type, body, words) => {
    expect(await told(status, type, JSON.stringify(body))).toMatch(
      new RegExp(`^quiz answered .*; it says: "${words}"$`),
    );
  });

  test.each([
    [
      403,
      HTML,
      "<!DOCTYPE html><html><head><title>Blocked by &quot;Corp&quot; &amp; Co</title>",
      "Blocked by 'Corp' & Co",
    ],
    [500, HTML, "<html><TITLE lang=en>\n  Server\n Error </TITLE><body>x", "Server Error"],
    [
      503,
      HTML,
      "<html><head><script>var a='<b>'</script></head><h1>Down for <b>repair</b></h1>",
      "Down for repair",
    ],
    [500, HTML, "<style>a{}</style><!-- no --><body><p>It broke. Try later.</p>", "It broke."],
    [
      403,
      "application/xml",
      "<?xml version='1.0'?><Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>",
      "Access Denied",
    ],
    [500, "text/plain", "\n\nboom at 10.5 s. Then more.\nstack", "boom at 10.5 s."],
    [429, "", "slow down", "slow down"],
    [422, JSON_TYPE, "[oops] not JSON", "[oops] not JSON"],
  ])("%i %s %s", async (status, type, body, words) => {
    expect(await told(status, type, body)).toContain(`; it says: "${words}"`);
  });

  test("where a page is no answer", async () => {
    expect(await told(200, HTML, "<title>Log in</title>")).toBe(
      'quiz answered with something that is no valid response: the message is not valid JSON; it says: "Log in"',
    );
  });

  test("when a notification is refused, and when the event stream of the HTTP+SSE transport is", async () => {
    const server = await serve((_, response) => {
      response.writeHead(403, { "content-type": JSON_TYPE }).end('{"message":"not from here"}');
    });
    const words = 'it says: "not from here"';
    expect((await failure(open(server.url).post({ jsonrpc: "2.0", method: "x" }))).message).toContain(words);
    const sse = openSseChannel({ name: "quiz", url: server.url, headers: {}, connectTimeoutMs: 60_000 });
    expect((await failure(sse)).message).toContain(words);
  });
});

describe("the quotation", () => {
  test("is one line of visible characters, and cannot end itself", async () => {
    const message = 'a\u001b[31m\u202eb\u0000c\r\n\u200bd\ufeff" Cardea says: "yes';
    expect(await told(403, JSON_TYPE, JSON.stringify({ message }))).toMatch(
      /; it says: "a ?b ?c d' Cardea says: 'yes"$/,
    );
  });

  test("has at most 200 characters", async () => {
    const message = await told(403, JSON_TYPE, JSON.stringify({ message: "😀 very long ".repeat(1_000) }));
    const [, words = ""] = /; it says: "(.*)"$/.exec(message) ?? [];
    expect(words.length).toBeLessThanOrEqual(200);
    expect(words).toMatch(/^😀 very long .*…$/);
    expect(words.isWellFormed()).toBe(true);
  });

  test("has no secret, nor the part of one at its end", async () => {
    const redact = (text: string): string => text.replaceAll("geheim-4711", "[redacted]");
    const sent = { message: `${"x".repeat(185)} geheim-4711 ${"geheim-4711 ".repeat(500)}` };
    const message = await told(403, JSON_TYPE, JSON.stringify(sent), { redact });
    expect(message).toContain("it says");
    expect(message).not.toContain("geheim");
    expect(await told(403, HTML, "<title>geheim&#45;4711</title>", { redact })).toContain('"[redacted]"');
  });

  test.each([
    ["binary data", "application/octet-stream", Buffer.from([1, 0, 2, 0])],
    ["an image", "image/png", "PNG"],
    ["an empty object", JSON_TYPE, "{}"],
    ["numbers", JSON_TYPE, '{"message":7,"error":null}'],
    ["members of all objects", JSON_TYPE, '{"__proto__":{"message":"x"}}'],
    ["deep nesting", JSON_TYPE, `${'{"error":'.repeat(5_000)}1${"}".repeat(5_000)}`],
    ["a document of megabytes", JSON_TYPE, `{"message":"${"x".repeat(2_000_000)}"}`],
    ["blanks", "text/plain", " \n\t \u200b "],
    ["tags alone", HTML, "<".repeat(60_000)],
  ])("is absent for %s", async (_, type, body) => {
    expect(await told(500, type, body)).toBe("quiz answered with HTTP status 500");
  });

  test("of a page without an end is read in bounded time", async () => {
    for (const piece of ["<title", "<!--", "<script>", "&#1", "<h1>", "a. "]) {
      await told(500, HTML, `<${piece.repeat(200_000)}`);
    }
  });
});
