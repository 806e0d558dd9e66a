/** Which results are over their budget? Hosts get a preview of them, and they are kept. */
import { type Call, type Middleware, NOT_CACHEABLE, type Reply } from "../../core/call.js";
import type { Logger } from "../../core/logger.js";
import { TASK_METHODS } from "../../core/methods.js";
import { cooperativeYield, LARGE_BYTES } from "../../runtime/cooperative-yield.js";
import { isObject, type JsonObject, without } from "../../wire/json.js";
import { writeJson } from "../../wire/json-text.js";
import { Payload } from "../../wire/payload.js";
import type { Budget, Budgets } from "./budgets.js";
import type { KeptResults } from "./kept-results.js";
import { previewResult } from "./preview/preview-result.js";
import { type MeasuredResult, measuredResult, tokensOf } from "./preview/sizes.js";

/** What the layer uses. */
export interface LargeResultsOptions {
  readonly budgets: Budgets;
  readonly kept: KeptResults;
  /** Called with the tokens that a preview has saved. */
  readonly onSaved: (server: string, tokens: number) => void;
  readonly logger: Logger;
}

/** Outside the rules: what is kept is what the host would have received. */
export function keepLargeResults({ budgets, kept, onSaved, logger }: LargeResultsOptions): Middleware {
  return (next) =>
    function keepLargeResults(call) {
      const { route, method } = call;
      if (route === undefined || !hasToolResults(method)) return next(call);
      const budget = budgets.of(route.upstream, route.target);
      if (budget === undefined) return next(call);
      return next(call).then((reply) => {
        // The raw text is at least as long as what is counted.
        if (reply.kind !== "result" || reply.refusal !== undefined) return reply;
        return reply.result.members.length <= budget.characters ? reply : fitted(call, reply, budget);
      });
    };

  async function fitted(call: Call, reply: ResultReply, budget: Budget): Promise<Reply> {
    try {
      if (reply.result.members.length > LARGE_BYTES) await cooperativeYield();
      // Of a cancelled call the host gets no result, and reads none.
      if (call.signal.aborted) return reply;
      const whole = reply.result.object;
      const result = toolResultIn(call, whole);
      if (result === undefined) return reply;
      const measured = measuredResult(result);
      if (measured.size <= budget.characters) return reply;
      const members = result === whole ? reply.result.members : writeJson(result).slice(1);
      const preview = previewAndKeep(call, measured, members, budget);
      // A host that cached the preview would show an id that is gone.
      const shown = result === whole ? without(preview, CACHE_HINTS) : { ...whole, result: preview };
      return { ...reply, result: Payload.ofObject(shown), freshness: NOT_CACHEABLE };
    } catch (error) {
      // A fault here costs tokens, and no result.
      logger.error(
        { call: call.id, error },
        "a large result could not be previewed; the host gets the whole",
      );
      return reply;
    }
  }

  function previewAndKeep(
    call: Call,
    measured: MeasuredResult,
    members: string | Buffer,
    budget: Budget,
  ): JsonObject {
    const { route, client } = call;
    const server = route?.upstream ?? "";
    const tool = route?.exposed ?? "";
    const { keepMs, serverBytes, characters: pageCharacters } = budget;
    const own = ownBytes(members);
    const id = kept.keep({
      ...{ client, server, tool, members: own, keepMs, serverBytes, pageCharacters },
    })?.id;
    const preview = previewResult(measured, pageCharacters, {
      ...{ id, size: measured.size, tool, bytes: own.length + 1, keep: durationText(keepMs) },
    });
    onSaved(server, Math.max(0, tokensOf(measured.size) - tokensOf(measuredResult(preview).size)));
    return preview;
  }
}

/** How much larger the buffer that a result is a part of may be, so that the result is kept without a copy. */
const MOST_AROUND = 1.25;

/** The bytes of a result, without much around them that they would keep in memory. */
function ownBytes(members: string | Buffer): Buffer {
  if (typeof members === "string") return Buffer.from(members);
  return members.buffer.byteLength <= members.length * MOST_AROUND ? members : Buffer.from(members);
}

/** Members with which servers of 2026-07-28 state how long a result may be cached. */
const CACHE_HINTS = ["ttlMs", "cacheScope"];

type ResultReply = Extract<Reply, { readonly kind: "result" }>;

/** Whether results of tools come as replies to the method. */
const hasToolResults = (method: string): boolean => method === "tools/call" || TASK_METHODS.has(method);

/** The tool's own result; undefined for a task that has none yet. */
function toolResultIn({ method }: Call, result: JsonObject): JsonObject | undefined {
  if (method !== "tasks/get") return Array.isArray(result.content) ? result : undefined;
  return isObject(result.result) && Array.isArray(result.result.content) ? result.result : undefined;
}

const durationText = (ms: number): string =>
  ms >= 60_000 ? `${Math.round(ms / 60_000)} min` : `${Math.round(ms / 1000)} s`;
