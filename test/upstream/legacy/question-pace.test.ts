/** How long questions of legacy servers wait for others that are asked together with them. */
import { describe, expect, test, vi } from "vitest";
import type { Reply } from "../../../src/core/call.js";
import { legacyServer } from "../../support/fake-channel.js";
import { fakeTime } from "../../support/fake-time.js";
import { calling, meet, resultOf, settled } from "../../support/met-upstream.js";
import { answering, asked, curious, host, soon, who } from "./questions-support.js";

fakeTime();

type Met = Awaited<ReturnType<typeof meet>>["upstream"];

/** Makes a call whose rounds are all answered. */
async function answered(upstream: Met): Promise<void> {
  const first = calling({ client: host() });
  let reply = await soon(upstream.call(first.call));
  while (reply.kind === "input_required") {
    const { state, keys } = asked(reply);
    const responses = Object.fromEntries(keys.map((key) => [key, { action: "decline" }]));
    reply = await soon(upstream.call(answering(first, { responses, state }).call));
  }
  resultOf(reply);
}

/** Makes a call and resolves to whether its question has been asked, before others could have come. */
async function isAskedAtOnce(upstream: Met): Promise<boolean> {
  let reply: Reply | undefined;
  const call = upstream.call(calling({ client: host() }).call).then((got) => {
    reply = got;
  });
  // A call that has not been asked ends with the server of the test.
  call.catch(() => {});
  await vi.advanceTimersByTimeAsync(5);
  await settled();
  return reply?.kind === "input_required";
}

/** Asks one question and, if `also` is true at that time, a second one after `ms`. */
const server = (also: () => boolean, ms: number) =>
  legacyServer().on("tools/call", async (_params, ask) => {
    const asked = [ask.ask("elicitation/create", who)];
    if (also()) {
      await new Promise((resolve) => setTimeout(resolve, ms));
      asked.push(ask.ask("elicitation/create", who));
    }
    return { told: await Promise.all(asked) };
  });

describe("a question of a server", () => {
  test("waits for others while nothing is known of the server", async () => {
    const { upstream } = await meet(curious());
    expect(await isAskedAtOnce(upstream)).toBe(false);
  });

  test("is asked at once after three rounds of one question each", async () => {
    const { upstream } = await meet(curious());
    for (let call = 0; call < 3; call += 1) await answered(upstream);
    expect(await isAskedAtOnce(upstream)).toBe(true);
  });

  test("that comes a little later than another one is asked in a round of its own, and the next ones wait again", async () => {
    let asksTwo = false;
    const { upstream } = await meet(server(() => asksTwo, 10));
    for (let call = 0; call < 3; call += 1) await answered(upstream);
    asksTwo = true;
    await answered(upstream);
    expect(await isAskedAtOnce(upstream)).toBe(false);
    const first = calling({ client: host() });
    expect(asked(await soon(upstream.call(first.call))).keys).toHaveLength(2);
  });

  test("never is asked at once by a server that asks two together each time", async () => {
    const { upstream } = await meet(server(() => true, 0));
    for (let call = 0; call < 4; call += 1) await answered(upstream);
    expect(await isAskedAtOnce(upstream)).toBe(false);
  });

  test("comes with those of the same turn, although the server asks one at a time otherwise", async () => {
    let asksTwo = false;
    const both = legacyServer().on("tools/call", async (_params, ask) => {
      const questions = asksTwo ? [who, who] : [who];
      return { told: await Promise.all(questions.map((one) => ask.ask("elicitation/create", one))) };
    });
    const { upstream } = await meet(both);
    for (let call = 0; call < 3; call += 1) await answered(upstream);
    asksTwo = true;
    const first = calling({ client: host() });
    expect(asked(await soon(upstream.call(first.call))).keys).toHaveLength(2);
  });
});
