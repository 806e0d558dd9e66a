/** The documents of one stream are read in order, in turns of the event loop that others share. */
import { setImmediate as turn } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { LARGE_BYTES, type Steps } from "../../src/runtime/cooperative-yield.js";
import { DocumentQueue, MESSAGES_PER_STEP } from "../../src/runtime/document-queue.js";

/** A stream whose documents are numbers; a long one is padded, and read in `steps` steps. */
class Numbers extends DocumentQueue {
  readonly numbers: number[] = [];
  readonly flow: string[] = [];

  constructor(readonly steps = 3) {
    super({ pause: () => this.flow.push("pause"), resume: () => this.flow.push("resume") });
  }

  protected override read(document: Buffer): number {
    this.numbers.push(Number(document.toString()));
    return 1;
  }

  protected override *readInSteps(document: Buffer): Steps<void> {
    for (let at = 0; at < this.steps; at++) yield;
    this.numbers.push(Number(document.toString()));
  }

  give(...numbers: readonly number[]): void {
    for (const number of numbers) this.push(Buffer.from(String(number)));
  }

  giveLong(number: number): void {
    this.push(Buffer.from(String(number).padStart(LARGE_BYTES)));
  }

  whenRead(): Promise<void> {
    return new Promise((resolve) => this.whenIdle(resolve));
  }
}

const upTo = (count: number) => Array.from({ length: count }, (_, at) => at);

describe("documents of one stream", () => {
  test("are read at once while they are few and short, and the stream is not paused", () => {
    const queue = new Numbers();
    queue.give(1, 2, 3);
    expect(queue.numbers).toEqual([1, 2, 3]);
    expect(queue.flow).toEqual([]);
  });

  test("are read in order, a number of them in each turn, while the stream is paused", async () => {
    const queue = new Numbers();
    queue.give(...upTo(5 * MESSAGES_PER_STEP));
    expect(queue.numbers).toHaveLength(MESSAGES_PER_STEP);
    expect(queue.flow).toEqual(["pause"]);
    let turns = 0;
    for (let known = queue.numbers.length; queue.isBusy; known = queue.numbers.length) {
      await turn();
      turns += 1;
      // A probe and a step may change places within one turn.
      expect(queue.numbers.length - known).toBeLessThanOrEqual(2 * MESSAGES_PER_STEP);
    }
    expect(turns).toBeGreaterThanOrEqual(2);
    expect(queue.numbers).toEqual(upTo(5 * MESSAGES_PER_STEP));
    expect(queue.flow).toEqual(["pause", "resume"]);
  });

  test("are read at once however many there are, where few come in one turn", async () => {
    const queue = new Numbers();
    for (const first of upTo(5)) {
      queue.give(...upTo(MESSAGES_PER_STEP / 2 + 1).map((each) => first * MESSAGES_PER_STEP + each));
      await turn();
    }
    expect(queue.numbers).toHaveLength(5 * (MESSAGES_PER_STEP / 2 + 1));
    expect(queue.flow).toEqual([]);
  });

  test("come after a long one that is read in steps, and in their order", async () => {
    const queue = new Numbers();
    queue.give(1);
    queue.giveLong(2);
    queue.give(3);
    queue.giveLong(4);
    queue.give(5);
    expect(queue.numbers).toEqual([1]);
    await queue.whenRead();
    expect(queue.numbers).toEqual([1, 2, 3, 4, 5]);
  });

  test("of another stream are read between the steps", async () => {
    const busy = new Numbers();
    const calm = new Numbers();
    busy.give(...upTo(10 * MESSAGES_PER_STEP));
    const known = busy.numbers.length;
    await turn();
    calm.give(1);
    expect(calm.numbers).toEqual([1]);
    expect(busy.numbers.length).toBeLessThan(known + 5 * MESSAGES_PER_STEP);
    await busy.whenRead();
  });

  test("that come while others wait are read too, before the stream counts as read", async () => {
    const queue = new Numbers();
    queue.giveLong(1);
    const ended = queue.ended();
    await turn();
    queue.give(2);
    await ended;
    expect(queue.numbers).toEqual([1, 2]);
    expect(queue.isBusy).toBe(false);
  });

  test("that wait are dropped with the stream, and later ones are read", async () => {
    const queue = new Numbers();
    queue.giveLong(1);
    queue.give(2, 3);
    queue.clear();
    await queue.whenRead();
    queue.give(4);
    expect(queue.numbers).toEqual([4]);
    expect(queue.flow).toEqual(["pause", "resume"]);
  });
});
