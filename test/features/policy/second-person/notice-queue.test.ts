/** When are notices tried again, in which order do they arrive, and when are they lost? */
import { expect, test } from "vitest";
import {
  MAX_ATTEMPTS,
  MAX_WAITING_LENGTH,
  type NoticeOutcome,
  NoticeQueue,
} from "../../../../src/features/policy/second-person/notice-queue.js";
import type { WebhookMessage, WebhookOutcome } from "../../../../src/outgoing/webhook.js";
import { fakeTime, pass, settle } from "../../../support/fake-time.js";

fakeTime();

const HOUR = 3_600_000;
const REFUSED: WebhookOutcome = { kind: "refused", reason: "it answered with 503" };
const message = (id: string, body = "{}"): WebhookMessage => ({ id, body });

/** A queue to a receiver that answers as `answer` says. */
function queueTo(answer: (message: WebhookMessage) => WebhookOutcome | Promise<WebhookOutcome>) {
  const posted: string[] = [];
  const outcomes: NoticeOutcome[] = [];
  const ends: string[] = [];
  const queue = new NoticeQueue({
    webhook: {
      async post(posting) {
        posted.push(posting.id);
        return answer(posting);
      },
      async close() {
        ends.push("closed");
      },
    },
    onOutcome: (outcome) => outcomes.push(outcome),
    onEmpty: () => ends.push("empty"),
  });
  return { queue, posted, outcomes, ends };
}

test("messages about one approval keep their order, and one that is refused holds up no other approval", async () => {
  let isAway = true;
  const { queue, posted, outcomes, ends } = queueTo(({ id }) =>
    isAway && id === "a1" ? REFUSED : { kind: "accepted" },
  );
  queue.add("a", message("a1"));
  queue.add("a", message("a2"));
  queue.add("b", message("b1"));
  await settle();
  expect(posted).toEqual(["a1", "b1"]);
  isAway = false;
  await pass(2_000);
  expect(posted).toEqual(["a1", "b1", "a1", "a2"]);
  expect(outcomes).toEqual(["accepted", "accepted", "accepted"]);
  expect(ends).toEqual(["empty", "closed"]);
});

test("a message is lost after its last attempt, and the next one about the approval has its own", async () => {
  const { queue, posted, outcomes } = queueTo(({ id }) => (id === "a1" ? REFUSED : { kind: "accepted" }));
  queue.add("a", message("a1"));
  queue.add("a", message("a2"));
  await settle();
  expect(queue.problem).toBe("it answered with 503");
  await pass(HOUR);
  expect(posted).toEqual([...Array.from({ length: MAX_ATTEMPTS }, () => "a1"), "a2"]);
  expect(outcomes).toEqual(["failed", "accepted"]);
});

test("the time that a receiver asks for is waited, two minutes at most", async () => {
  const { queue, posted } = queueTo(() => ({ ...REFUSED, waitMs: HOUR }));
  queue.add("a", message("a1"));
  await pass(119_000);
  expect(posted).toHaveLength(1);
  await pass(2_000);
  expect(posted).toHaveLength(2);
  await queue.close(true);
});

test("what waits is bounded, and what does not fit is dropped", async () => {
  const { queue, outcomes } = queueTo(() => REFUSED);
  const quarter = "x".repeat(MAX_WAITING_LENGTH / 4);
  for (const about of ["a", "b", "c", "d", "e"]) queue.add(about, message(about, quarter));
  expect(outcomes).toEqual(["dropped"]);
  expect(queue.size).toBe(4);
  expect(await queue.close(true)).toBe(4);
});

test("a regular stop tries what waits again, and an immediate one does not", async () => {
  for (const isImmediate of [false, true]) {
    let isAway = true;
    const { queue, posted, ends } = queueTo(() => (isAway ? REFUSED : { kind: "accepted" }));
    queue.add("a", message("a1"));
    queue.add("a", message("a2"));
    await settle();
    isAway = false;
    expect(await queue.close(isImmediate)).toBe(isImmediate ? 2 : 0);
    expect(posted).toEqual(isImmediate ? ["a1"] : ["a1", "a1", "a2"]);
    expect(ends).toEqual(["closed"]);
    queue.add("b", message("b1"));
    await pass(HOUR);
    expect(posted).not.toContain("b1");
  }
});
