/** What do operators see of calls? Those under way, the last ones, an hour of numbers, and each one as it ends. */

import { LRUCache } from "lru-cache";
import type { Call, Observer, Reply } from "../core/call.js";
import type { CallRecord } from "../core/call-record.js";
import { GatewayError } from "../core/errors.js";
import { shortText } from "../core/short-text.js";
import {
  type CallContent,
  CallHistory,
  type CallHistoryPage,
  type CallRow,
  RecentCalls,
} from "./call-history.js";
import type { RecordSink } from "./call-records.js";
import { targetName } from "./finished-calls.js";
import { ServerFailures } from "./server-failures.js";

/** What a call was about, as far as the config shows it. */
export type ReadContent = (call: Call, reply: Reply) => CallContent;

const NOTHING: CallContent = {};
/** The number of servers with a history of their own, of about 30 KiB each. */
const MAX_SERVER_HISTORIES = 200;

/** The calls of one gateway; it outlives every config. */
export class LiveCalls {
  readonly running = new RunningCalls();
  readonly recent = new RecentCalls();
  readonly failures = new ServerFailures();
  readonly #history = new CallHistory();
  /** The same of each server; the one that was called the longest time ago makes room. */
  readonly #histories = new LRUCache<string, CallHistory>({ max: MAX_SERVER_HISTORIES });
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
    this.#history.add(record);
    this.failures.add(record);
    if (record.server !== "") this.#addToServer(record);
    for (const follow of this.#followers) follow({ ...record, ...content });
  };

  /** An hour of numbers, of all calls or of those of `server`. */
  historyOf(server?: string): CallHistoryPage {
    if (server === undefined) return this.#history.page();
    const own = this.#histories.peek(server) ?? new CallHistory();
    // Steps before its first call had none.
    return { ...own.page(), since: this.#history.since };
  }

  #addToServer(record: CallRecord): void {
    const { server } = record;
    this.#counts.set(server, this.callsOf(server) + 1);
    const known = this.#histories.get(server);
    const own = known ?? new CallHistory();
    if (known === undefined) this.#histories.set(server, own);
    own.add(record);
  }

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

/** A call under way, as operators see it. */
export interface RunningCall {
  /** As in its record later. */
  readonly id: number;
  /** ISO 8601. */
  readonly startedAt: string;
  readonly principal: string;
  readonly method: string;
  readonly target: string;
  /** "" where none owns the target. */
  readonly server: string;
}

/** What came of an attempt to cancel: `waiting` where no server works on the call yet. */
export type CancelOutcome = "cancelled" | "waiting" | "unknown";

/** The calls of one gateway that run, in an array with slots: see ARCHITECTURE, "The hot path". */
export class RunningCalls {
  readonly #open: Call[] = [];

  /** Must be inside `callRecords`, which notes when a call began. */
  readonly observer: Observer = {
    name: "runningCalls",
    onStart: (call) => {
      if (call.record !== undefined) call.record.slot = this.#open.push(call) - 1;
    },
    onEnd: ({ record }) => {
      if (record === undefined) return;
      const last = this.#open.pop();
      if (last?.record === undefined || last.record === record) return;
      this.#open[record.slot] = last;
      last.record.slot = record.slot;
    },
  };

  /** In no order. */
  list(): readonly RunningCall[] {
    const since = Date.now() - performance.now();
    return this.#open.map((call) => ({
      id: call.id,
      startedAt: new Date(since + (call.record?.startedAt ?? 0)).toISOString(),
      principal: call.client.principal.id,
      method: shortText(call.method, 200),
      target: targetName(call) ?? "",
      server: call.route?.upstream ?? "",
    }));
  }

  /** How many run. */
  get size(): number {
    return this.#open.length;
  }

  /** Ends every call that a server works on with `error`, which its host receives; its server gets a cancellation. */
  cancelAll(error: GatewayError): void {
    for (const { record } of [...this.#open]) record?.cancel?.(error);
  }

  /** Cancels the call with this id; its host receives the error `cancelled`, its server a cancellation. */
  cancel(id: number): CancelOutcome {
    const call = this.#open.find((open) => open.id === id);
    if (call === undefined) return "unknown";
    if (call.record?.cancel === undefined) return "waiting";
    call.record.cancel(new GatewayError("cancelled", "gateway", "an operator cancelled this call"));
    return "cancelled";
  }
}
