/** What do operators see of calls? Those under way, the last ones, an hour of numbers, and each new one as it ends. */
import type { Call, Reply } from "../core/call.js";
import { CallHistory } from "./call-history.js";
import type { RecordSink } from "./call-records.js";
import { type CallContent, type CallRow, RecentCalls } from "./recent-calls.js";
import { RunningCalls } from "./running-calls.js";

/** What a call was about, as far as the config shows it. */
export type ReadContent = (call: Call, reply: Reply) => CallContent;

const NOTHING: CallContent = {};

/** The calls of one gateway; it outlives every config. */
export class LiveCalls {
  readonly running = new RunningCalls();
  readonly recent = new RecentCalls();
  readonly history = new CallHistory();
  readonly #content: ReadContent | undefined;
  /** By the keys of servers in all configs so far. */
  readonly #counts = new Map<string, number>();
  /** Nearly always none. */
  #followers: readonly ((row: CallRow) => void)[] = [];

  /** `content`: default nothing is shown. */
  constructor(content?: ReadContent) {
    this.#content = content;
  }

  readonly sink: RecordSink = (record, call, reply) => {
    const content = this.#content?.(call, reply) ?? NOTHING;
    this.recent.add(record, content);
    this.history.add(record);
    if (record.server !== "") this.#counts.set(record.server, this.callsOf(record.server) + 1);
    for (const follow of this.#followers) follow({ ...record, ...content });
  };

  /** How many calls to a server have finished. */
  callsOf(server: string): number {
    return this.#counts.get(server) ?? 0;
  }

  /** Calls `listener`, which must not throw, with each call that ends, until the returned function is called. */
  follow(listener: (row: CallRow) => void): () => void {
    this.#followers = [...this.#followers, listener];
    return () => {
      this.#followers = this.#followers.filter((other) => other !== listener);
    };
  }
}
