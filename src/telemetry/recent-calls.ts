/** Which calls finished last? A ring that keeps what it is given in columns, so that no record outlives its turn. */
import type { CallRecord } from "../core/call-record.js";
import { retainedCopy } from "../runtime/cache-limits.js";

/** How many calls are kept. */
export const MAX_RECENT_CALLS = 1000;

const TIMES = ["at", "id", "total", "queue", "policy", "upstream", "input"] as const;
const TEXTS = [
  ...(["principal", "host", "method", "target", "server", "outcome"] as const),
  ...(["rule", "decision", "traceId", "arguments", "result"] as const),
] as const;

/** What the arguments and the result of a call were, redacted and cut; absent where the config does not show them. */
export interface CallContent {
  readonly arguments?: string | undefined;
  readonly result?: string | undefined;
}

/** A finished call, as operators see it. */
export type CallRow = CallRecord & CallContent;

/** The latest calls. Numbers are in typed arrays: keeping the records themselves would promote each to the old generation. */
export class RecentCalls {
  readonly #numbers = new Float64Array(MAX_RECENT_CALLS * TIMES.length);
  readonly #texts = new Array<string | undefined>(MAX_RECENT_CALLS * TEXTS.length).fill(undefined);
  #written = 0;

  add(record: CallRecord, content: CallContent = {}): void {
    const slot = this.#written % MAX_RECENT_CALLS;
    this.#written += 1;
    const { ms } = record;
    let at = slot * TIMES.length;
    this.#numbers[at++] = record.at;
    this.#numbers[at++] = record.id;
    this.#numbers[at++] = ms.total;
    this.#numbers[at++] = ms.queue;
    this.#numbers[at++] = ms.policy;
    this.#numbers[at++] = ms.upstream;
    this.#numbers[at] = ms.input;
    let to = slot * TEXTS.length;
    this.#texts[to++] = record.principal;
    this.#texts[to++] = record.host;
    this.#texts[to++] = whole(record.method);
    this.#texts[to++] = whole(record.target);
    this.#texts[to++] = record.server;
    this.#texts[to++] = record.outcome;
    this.#texts[to++] = record.rule;
    this.#texts[to++] = record.decision;
    this.#texts[to++] = record.traceId;
    this.#texts[to++] = content.arguments;
    this.#texts[to] = content.result;
  }

  /** The newest first; `is` chooses rows, of which there are `limit` at most. */
  latest(limit = MAX_RECENT_CALLS, is: (row: CallRow) => boolean = () => true): readonly CallRow[] {
    const rows: CallRow[] = [];
    const oldest = Math.max(0, this.#written - MAX_RECENT_CALLS);
    for (let index = this.#written - 1; index >= oldest && rows.length < limit; index -= 1) {
      const row = this.#row(index % MAX_RECENT_CALLS);
      if (is(row)) rows.push(row);
    }
    return rows;
  }

  /** Percentiles (ms) of the time that each server took to answer, over the calls that are kept. */
  upstreamLatencies(): ReadonlyMap<string, { readonly p50: number; readonly p95: number }> {
    const times = new Map<string, number[]>();
    for (const { server, ms } of this.latest()) {
      if (server === "" || ms.upstream === 0) continue;
      const known = times.get(server);
      if (known === undefined) times.set(server, [ms.upstream]);
      else known.push(ms.upstream);
    }
    return new Map(
      [...times].map(([server, all]) => {
        all.sort((a, b) => a - b);
        const at = (share: number): number =>
          Math.round((all[Math.ceil(share * all.length) - 1] ?? 0) * 1000) / 1000;
        return [server, { p50: at(0.5), p95: at(0.95) }];
      }),
    );
  }

  #row(slot: number): CallRow {
    const number = (name: (typeof TIMES)[number]): number =>
      this.#numbers[slot * TIMES.length + TIMES.indexOf(name)] ?? 0;
    const text = (name: (typeof TEXTS)[number]): string | undefined =>
      this.#texts[slot * TEXTS.length + TEXTS.indexOf(name)];
    return {
      id: number("id"),
      at: number("at"),
      principal: text("principal") ?? "",
      host: text("host") ?? "",
      method: text("method") ?? "",
      target: text("target") ?? "",
      server: text("server") ?? "",
      outcome: text("outcome") ?? "",
      rule: text("rule"),
      decision: text("decision"),
      traceId: text("traceId"),
      ms: {
        total: number("total"),
        queue: number("queue"),
        policy: number("policy"),
        upstream: number("upstream"),
        input: number("input"),
      },
      arguments: text("arguments"),
      result: text("result"),
    };
  }
}

/** Names of tools are the catalog's own; only a text as long as this was cut from a longer one, which it would keep. */
const CUT_LENGTH = 200;
const whole = (text: string): string => (text.length < CUT_LENGTH ? text : retainedCopy(text));
