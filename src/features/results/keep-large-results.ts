/** Which results are over their budget? Hosts get a preview of them, and they are kept. */
import type { Call, Middleware, Reply } from "../../core/call.js";
import type { Logger } from "../../core/logger.js";
import { TASK_METHODS } from "../../core/methods.js";
import { cooperativeYield, LARGE_BYTES } from "../../runtime/cooperative-yield.js";
import { isObject, type JsonObject } from "../../wire/json.js";
import { writeJson } from "../../wire/json-text.js";
import { Payload } from "../../wire/payload.js";
import type { Budget, Budgets } from "./budgets.js";
import type { KeptResults } from "./kept-results.js";
import { previewResult } from "./preview/preview-result.js";
import { sizeOfResult, tokensOf } from "./preview/sizes.js";

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
      const whole = reply.result.object;
      const result = toolResultIn(call, whole);
      if (result === undefined) return reply;
      const size = sizeOfResult(result);
      if (size <= budget.characters) return reply;
      const preview = previewAndKeep(call, result, size, budget);
      const shown = result === whole ? preview : { ...whole, result: preview };
      return { ...reply, result: Payload.ofObject(shown) };
    } catch (error) {
      // A fault here costs tokens, and no result.
      logger.error(
        { call: call.id, error },
        "a large result could not be previewed; the host gets the whole",
      );
      return reply;
    }
  }

  function previewAndKeep(call: Call, result: JsonObject, size: number, budget: Budget): JsonObject {
    const { route, client } = call;
    const server = route?.upstream ?? "";
    const tool = route?.exposed ?? "";
    const json = Buffer.from(writeJson(result));
    const { keepMs, serverBytes, characters: pageCharacters } = budget;
    const id = kept.keep({ ...{ client, server, tool, json, keepMs, serverBytes, pageCharacters } })?.id;
    const preview = previewResult(result, pageCharacters, {
      ...{ id, size, tool, bytes: json.length, keep: durationText(keepMs) },
    });
    onSaved(server, Math.max(0, tokensOf(size) - tokensOf(sizeOfResult(preview))));
    return preview;
  }
}

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
