/** How is the record of a finished call made, and who receives it? */

import type { Call, Handler, Observer, Reply } from "../core/call.js";
import type { CallRecord } from "../core/call-record.js";
import { shortText } from "../core/short-text.js";
import { traceIdOf } from "../core/trace-context.js";
import { retainedCopy } from "../runtime/cache-limits.js";
import { type JsonObject, stringAt } from "../wire/json.js";
import { outcomeOf, refusingRule, serverOf, targetName } from "./finished-calls.js";

/** Receives the record of each finished call. It neither throws nor waits. */
export type RecordSink = (record: CallRecord, call: Call, reply: Reply) => void;

/** Limit (characters) of a text that a host chooses. */
const MAX_TEXT_LENGTH = 200;

/** Gives the record of each call to all `sinks`; must be outside `errorBoundary`, which turns refusals into replies. */
export function callRecords(sinks: readonly RecordSink[]): Observer {
  const hosts = new HostNames();
  return {
    name: "callRecords",
    onStart({ record: notes }) {
      if (notes !== undefined) notes.startedAt = performance.now();
    },
    onEnd(call, reply, elapsed) {
      const { record: notes, client } = call;
      if (notes === undefined) return;
      const total = elapsed - notes.heldMs;
      const record: CallRecord = {
        id: call.id,
        at: Date.now() - elapsed,
        principal: client.principal.id,
        host: hosts.of(client.info),
        method: shortText(call.method, MAX_TEXT_LENGTH),
        target: targetName(call) ?? "",
        server: serverOf(call, reply) ?? "",
        outcome: outcomeOf(call, reply),
        rule: notes.rule ?? refusingRule(reply),
        decision: notes.decision,
        traceId: traceIdOf(call),
        ms: {
          total,
          queue: notes.queueMs,
          policy: notes.isRouted ? notes.policyMs : Math.max(0, total - notes.queueMs),
          upstream: notes.upstreamMs,
          input: notes.inputMs + notes.heldMs,
        },
      };
      for (const sink of sinks) sink(record, call, reply);
    },
  };
}

/** Notes of each call that reaches `next` how long the layers before it took; a repetition by them adds nothing. */
export const policyTimed = (next: Handler): Handler =>
  function policyTimed(call) {
    const { record } = call;
    if (record !== undefined && !record.isRouted) {
      record.isRouted = true;
      record.policyMs = Math.max(0, performance.now() - record.startedAt - record.queueMs - record.heldMs);
    }
    return next(call);
  };

/** Names of hosts by what they said of themselves, which a session or the cache of clients keeps. */
class HostNames {
  readonly #known = new WeakMap<JsonObject, string>();

  of(info: JsonObject | undefined): string {
    if (info === undefined) return "";
    const known = this.#known.get(info);
    if (known !== undefined) return known;
    const name = [stringAt(info, "name"), stringAt(info, "version")].filter(Boolean).join(" ");
    const cut = retainedCopy(shortText(name, MAX_TEXT_LENGTH));
    this.#known.set(info, cut);
    return cut;
  }
}
