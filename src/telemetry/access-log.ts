/** What does the log say of each call? Principal, target, server, outcome and duration. */
import type { Call, Observer } from "../core/call.js";
import type { Logger } from "../core/logger.js";
import { targetOf } from "../core/methods.js";
import { outcomeOf, unavailableServer } from "./labels.js";

/** Outcomes of normal operation, which are logged at `debug`. */
const EXPECTED_OUTCOMES: ReadonlySet<string> = new Set(["ok", "tool_error", "input_required", "cancelled"]);
const MAX_TARGET_LENGTH = 200;

/**
 * Writes a line after each reply: at `debug` for expected outcomes, at `info` when the call was refused or failed.
 * Arguments and results are not logged. Must be outside `errorBoundary`, which turns refusals into replies.
 */
export function accessLog(logger: Logger): Observer {
  return {
    onEnd(call, reply, ms) {
      const outcome = outcomeOf(call, reply);
      const isQuiet = EXPECTED_OUTCOMES.has(outcome);
      if (isQuiet && logger.skipsDebug === true) return;
      const line = {
        call: call.id,
        method: call.method.slice(0, MAX_TARGET_LENGTH),
        target: targetName(call),
        upstream: call.route?.upstream ?? unavailableServer(reply),
        principal: call.client.principal.id,
        outcome,
        ms: Math.round(ms * 100) / 100,
      };
      if (isQuiet) logger.debug(line, "call");
      else logger.info(line, "call");
    },
  };
}

const targetName = (call: Call): string | undefined =>
  (call.route?.exposed ?? targetOf(call.method, call.params)?.name)?.slice(0, MAX_TARGET_LENGTH);
