/** Annotations of a server count for flow rules as soon as the lock approves them, and no longer when they change. */
import "../../../src/features/flow/feature.js";
import { expect } from "vitest";
import { testOf } from "../../support/features.js";
import { resultOf, said, search, trusted } from "../trust/support.js";

testOf("admin")("labels by annotations hold while the lock approves the definition", async () => {
  const annotations = { openWorldHint: true, readOnlyHint: false };
  const now = said({ tools: [{ ...search, annotations }] });
  const flow = [{ name: "no-posts", after: ["untrusted"], sends: "external", effect: "deny" }];
  const running = await trusted(now, { config: { policy: { flow } } });
  const host = await running.host("legacy");
  const isRefused = async (): Promise<boolean> =>
    JSON.stringify(await resultOf(host, "shifty__search")).includes("no-posts");
  expect(await isRefused()).toBe(false);
  await running.lock();
  expect(await isRefused()).toBe(true);
  await running.writeLock('{ "version": 1, "servers": {} }');
  expect(await isRefused()).toBe(false);
});
