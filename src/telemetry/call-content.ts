/** What of the arguments and the result of a call do operators see, where the config shows them at all? */
import { retainedCopy } from "../runtime/cache-limits.js";
import { writeJson } from "../wire/json-text.js";
import type { ReadContent } from "./live-calls.js";

const MAX_SHOWN_LENGTH = 2_000;
/** Redaction reads this many characters, so that a secret at the cut is whole. */
const MAX_READ_LENGTH = 4 * MAX_SHOWN_LENGTH;

/** Arguments and result as JSON texts, without what `redact` takes out, cut. */
export function callContent(redact: (text: string) => string): ReadContent {
  const shown = (text: string): string =>
    retainedCopy(redact(text.slice(0, MAX_READ_LENGTH)).slice(0, MAX_SHOWN_LENGTH));
  return ({ params }, reply) => ({
    arguments: params.arguments === undefined ? undefined : shown(writeJson(params.arguments)),
    result:
      reply.kind === "result"
        ? shown(startOf(reply.result.text))
        : reply.kind === "error"
          ? shown(writeJson(reply.error))
          : undefined,
  });
}

const startOf = (text: string | Buffer): string =>
  typeof text === "string" ? text : text.toString("utf8", 0, MAX_READ_LENGTH);
