/**
 * In which turns of the event loop are the documents of one stream read? Short ones at once, up to a number of messages;
 * further and long ones in steps, in order, while the stream is paused.
 */
// The turns of the event loop itself, also where a test puts other timers in place of the global ones.
import { setImmediate } from "node:timers";
import { cooperativeYield, LARGE_BYTES, type Steps, scheduleStep } from "./cooperative-yield.js";

/** The most messages that one step delivers: below 10 ms, where each is passed on to a host. */
export const MESSAGES_PER_STEP = 512;

/** The stream that the documents come from. */
export interface DocumentSource {
  /** Delivers nothing more until `resume`, except what it has read. */
  pause(): void;
  resume(): void;
}

/** The documents of one stream; a subclass reads them. */
export abstract class DocumentQueue {
  readonly #source: DocumentSource;
  /** The messages that are still delivered at once; set back by each step, and by the next turn once half of them came. */
  #credit = MESSAGES_PER_STEP;
  #isSetBackDue = false;
  /** The documents that are read in steps, the present one included; undefined while there are none. */
  #waiting: Buffer[] | undefined;
  #onIdle: (() => void)[] | undefined;

  constructor(source: DocumentSource) {
    this.#source = source;
  }

  /** Reads a document below LARGE_BYTES. Must not throw. Returns for how many messages it counts, at least 1. */
  protected abstract read(document: Buffer): number;
  /** Reads a longer one. Must not throw. */
  protected abstract readInSteps(document: Buffer): Steps<void>;

  push(document: Buffer): void {
    if (this.#waiting !== undefined) {
      this.#waiting.push(document);
    } else if (document.length < LARGE_BYTES && this.#credit > 0) {
      this.#credit -= this.read(document);
      if (this.#credit < MESSAGES_PER_STEP / 2 && !this.#isSetBackDue) this.#setBackInNextTurn();
    } else {
      this.#waiting = [document];
      this.#source.pause();
      this.#run(this.#drain());
    }
  }

  /** Messages that come a few in each turn need no step: it would wait for all steps of large messages. */
  #setBackInNextTurn(): void {
    this.#isSetBackDue = true;
    setImmediate(() => {
      this.#isSetBackDue = false;
      this.#credit = MESSAGES_PER_STEP;
    });
  }

  /** Whether documents wait. */
  get isBusy(): boolean {
    return this.#waiting !== undefined;
  }

  /** Calls `listener` when all documents that have come are read: at once where none waits. */
  whenIdle(listener: () => void): void {
    if (this.#waiting === undefined) listener();
    else if (this.#onIdle === undefined) this.#onIdle = [listener];
    else this.#onIdle.push(listener);
  }

  /** Resolves when no document waits, and the stream, which has ended, has delivered none after that. */
  async ended(): Promise<void> {
    while (this.#waiting !== undefined) {
      await new Promise<void>((resolve) => this.whenIdle(resolve));
      // What the system has of the stream comes in the next turn of the event loop.
      await cooperativeYield();
      await cooperativeYield();
    }
  }

  /** Drops the documents that wait. */
  clear(): void {
    if (this.#waiting !== undefined) this.#waiting.length = 0;
  }

  #run(steps: Steps<void>): void {
    if (steps.next().done !== true) scheduleStep(() => this.#run(steps));
  }

  *#drain(): Steps<void> {
    const waiting = this.#waiting ?? [];
    for (let at = 0; at < waiting.length; ) {
      yield;
      this.#credit = MESSAGES_PER_STEP;
      for (; this.#credit > 0 && at < waiting.length; at++) {
        const document = waiting[at] as Buffer;
        if (document.length < LARGE_BYTES) this.#credit -= this.read(document);
        else yield* this.readInSteps(document);
      }
    }
    this.#waiting = undefined;
    const listeners = this.#onIdle;
    this.#onIdle = undefined;
    for (const listener of listeners ?? []) listener();
    this.#source.resume();
  }
}

/** Calls `deliver` with each, in steps. `deliver` returns for how many messages it counts. */
export function* deliverInSteps<Item>(items: readonly Item[], deliver: (item: Item) => number): Steps<void> {
  let credit = 0;
  for (const item of items) {
    if (credit <= 0) {
      yield;
      credit = MESSAGES_PER_STEP;
    }
    credit -= deliver(item);
  }
}
