/** A call for a server in its first start waits for it, and for nothing once its host or the gateway has given it up. */
import { expect, test, vi } from "vitest";
import { Stop } from "../../src/core/stop.js";
import { tool } from "../catalog/support.js";
import { fakeTime, pass, settle } from "../support/fake-time.js";
import { fakeCall, fakeUpstream } from "../support/fake-upstream.js";
import { errorOf, type Front, frontOf, received, resultOf } from "./support.js";

fakeTime();

const starting = () => fakeUpstream("files", { state: "starting", lists: { tools: [tool("read")] } });

/** A call of `files__read`, and when (ms) its reply came. */
function calling({ handle }: Front, signal = new Stop().signal) {
  const began = performance.now();
  const made = { waited: Number.NaN };
  const reply = handle(fakeCall("tools/call", { name: "files__read" }, { signal })).then((reply) => {
    made.waited = performance.now() - began;
    return reply;
  });
  return { made, reply };
}

test("a call waits for its server as long as a list", async () => {
  const files = starting();
  const { made, reply } = calling(frontOf([files, fakeUpstream("git")]));
  await pass(9_000);
  files.becomeReady();
  await settle();
  expect(made.waited).toBe(9_000);
  expect(resultOf(await reply)).toEqual({ method: "tools/call", params: { name: "read" } });
});

test("a call that its host cancels ends its wait, reaches no server and leaves no timer", async () => {
  const files = starting();
  const stop = new Stop();
  const { made, reply } = calling(frontOf([files, fakeUpstream("git")]), stop.signal);
  await pass(500);
  stop.abort();
  await settle();
  expect(made.waited).toBe(500);
  expect(errorOf(await reply).message).toContain("was cancelled while servers were starting");
  expect(received(files)).toBeUndefined();
  expect(vi.getTimerCount()).toBe(0);
});

test("a call ends its wait when the gateway drains, and names the server", async () => {
  const front = frontOf([starting(), fakeUpstream("git")]);
  const { made, reply } = calling(front);
  await pass(2_000);
  front.catalog.stopWaiting();
  await settle();
  expect(made.waited).toBe(2_000);
  expect(errorOf(await reply).message).toContain("server files is not available");
  expect(vi.getTimerCount()).toBe(0);
});

test("a call that comes while the gateway drains waits no longer than any call", async () => {
  const front = frontOf([starting(), fakeUpstream("git")]);
  front.catalog.stopWaiting();
  const { made } = calling(front);
  await pass(1_500);
  expect(made.waited).toBe(1_500);
});
