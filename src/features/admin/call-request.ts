/** Calls a tool for a command. */
import { BadQuery } from "../../core/admin-page.js";
import type { Principal } from "../../core/client.js";
import type { StopSignal } from "../../core/stop.js";
import type { Pipeline } from "../../gateway/pipeline.js";
import { cliCall } from "../../gateway/views/cli-calls.js";
import { isObject, stringAt } from "../../wire/json.js";
import { parseJson, writeJson } from "../../wire/json-text.js";

/** Who asks for which call. */
interface CallRequest {
  readonly body: string;
  readonly signal: StopSignal;
  /** A person; undefined for a host of this machine. */
  readonly principal: Principal | undefined;
}

/**
 * `POST /api/v1/calls` with `{ name, arguments }`: the reply as JSON, with the server's original numbers.
 *
 * @throws BadQuery for an invalid body
 */
export async function answerCallRequest(
  pipeline: () => Pipeline,
  id: number,
  { body, signal, principal }: CallRequest,
): Promise<string> {
  let asked: unknown;
  try {
    asked = parseJson(body);
  } catch (cause) {
    throw new BadQuery("the body must be JSON", { cause });
  }
  const name = isObject(asked) ? stringAt(asked, "name") : undefined;
  const args = isObject(asked) ? (asked.arguments ?? {}) : undefined;
  if (name === undefined || !isObject(args)) throw new BadQuery("the body must be { name, arguments }");
  const reply = await cliCall(pipeline, id, { name, args, signal, principal });
  switch (reply.kind) {
    case "result":
      return writeJson({ kind: reply.kind, result: reply.result.object });
    case "error":
      return writeJson({ kind: reply.kind, error: { ...reply.error } });
    case "input_required":
      return writeJson({ kind: reply.kind, requests: reply.requests });
  }
}
