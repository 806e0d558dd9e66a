/** A request to a 2026-07-28 server as text: what is kept of a client must say what would be written again. */
import { expect, test } from "vitest";
import { type RequestIdentity, RequestWriter } from "../../../src/upstream/modern/messages.js";
import { advertisedToModern } from "../../../src/upstream/protocol/advertised-capabilities.js";
import { lineOf, textOf } from "../../../src/upstream/transport/message-bodies.js";
import { PREPARED_META } from "../../../src/wire/envelope.js";
import type { JsonObject } from "../../../src/wire/json.js";
import fc from "../../support/fast-check.js";
import { client } from "../../support/met-upstream.js";

const speaker: RequestIdentity = { info: { name: "host", version: "1" }, capabilities: {} };
const writer = new RequestWriter();
const written = (params: JsonObject, by = speaker) => writer.request("tools/call", params, 7, by).request;

test("the text is equivalent to the message, whatever the parameters are", () => {
  const json = fc.dictionary(
    fc.oneof(fc.string(), fc.constantFrom("_meta", "__proto__", "name", "a\u2028b")),
    fc.jsonValue({ maxDepth: 3 }) as fc.Arbitrary<unknown>,
  );
  fc.assert(
    fc.property(json, fc.option(fc.constant("info"), { nil: undefined }), (params, logLevel) => {
      const request = written(params, { ...speaker, ...(logLevel !== undefined && { logLevel }) });
      expect(JSON.parse(textOf(request))).toEqual(JSON.parse(JSON.stringify(request)));
      expect(JSON.parse(lineOf(request))).toEqual(JSON.parse(JSON.stringify(request)));
      expect(lineOf(request)).not.toMatch(/[\u2028\u2029\u0085\n]/);
    }),
  );
});

test("the clientInfo of a client is serialized once, and again when it changes", () => {
  const text = (by: RequestIdentity) => written({ name: "echo" }, by)[PREPARED_META]?.text;
  const first = text(speaker);
  expect(JSON.parse(first ?? "")).toEqual(written({}, speaker).params?._meta);
  expect(text({ ...speaker, capabilities: { roots: {} } })).toContain('{"roots":{}}');
  expect(text({ ...speaker, info: { name: "another", version: "1" } })).toContain('"another"');
  expect(text(speaker)).toBe(first);
});

test("parameters that are empty, or have metadata of their own, are written like any others", () => {
  expect(JSON.parse(textOf(written({}))).params).toEqual({ _meta: written({}).params?._meta });
  const own = written({ _meta: { traceparent: "00-1" } });
  expect(own[PREPARED_META]).toBeUndefined();
  expect(JSON.parse(textOf(own)).params._meta).toMatchObject({ traceparent: "00-1" });
});

test("capabilities are the same object until they change", () => {
  let aggregated = false;
  const promise = advertisedToModern(() => aggregated);
  const able = client({ capabilities: { sampling: { context: {} }, roots: { listChanged: true } } });
  const alone = promise(able);
  expect(alone).toEqual({ sampling: { context: {} }, roots: {} });
  expect(promise(able)).toBe(alone);
  aggregated = true;
  expect(promise(able)).toEqual({ sampling: {}, roots: {} });
  expect(promise(client({ capabilities: {} }))).toEqual({});
});
