/** Compressed answers and documents of APIs that ignore `accept-encoding: identity`. */
import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { documentOf, startApi } from "../../support/api.js";
import { sample } from "../../support/sample.js";
import { FORMS, send } from "../../upstream/transport/content-encodings.js";
import { serve } from "../../upstream/transport/http-support.js";
import { openApi } from "./open-api.js";

describe("an API", () => {
  const ok = { responses: { 200: { description: "ok" } } };
  const document = documentOf({ "/x": { get: { operationId: "op", ...ok } } });

  test.each(sample("forms of an API", FORMS, 3))(
    "may compress its answers and its document with %s (%#)",
    async (encoding, compress) => {
      const server = await serve((asked, to) =>
        send(
          to,
          encoding,
          compress(Buffer.from(JSON.stringify(asked.path === "/api.json" ? document : { ok: true }))),
        ),
      );
      const { call } = await openApi(
        {},
        { document: { url: `${server.origin}/api.json` }, baseUrl: server.origin },
      );
      expect(await call("op", {})).toMatchObject({ structuredContent: { ok: true } });
    },
  );

  test("that sends a bomb, or what is unknown, is named", async () => {
    const answers = [
      ["gzip", gzipSync(Buffer.alloc(8 * 1024 * 1024))],
      ["snappy", Buffer.from("?")],
    ] as const;
    for (const [encoding, body] of answers) {
      const api = await startApi(() => ({ headers: { "content-encoding": encoding }, body }) as never);
      const { call } = await openApi(document, { baseUrl: api.url });
      await expect(call("op", {})).rejects.toThrow(`(${encoding})` === "(gzip)" ? "100 times" : '"snappy"');
    }
  });
});
