/** How many completion values a host is given: no more than the specification lets a result have. */
import type { Reply } from "../core/call.js";
import { numberOf } from "../wire/exact-number.js";
import { objectAt } from "../wire/json.js";
import { Payload } from "../wire/payload.js";

/** "Maximum 100 items per response" (server/utilities/completion), in every revision; SDK hosts refuse a result with more. */
const MAX_VALUES = 100;

/**
 * The same reply with the first hundred values, which are the most relevant, and word of the rest: `hasMore` is true, and
 * `total` is what the server said it is, or how many values it gave where it said that there are no others.
 */
export function truncateCompletions(reply: Reply): Reply {
  if (reply.kind !== "result") return reply;
  const completion = objectAt(reply.result.object, "completion");
  const values: unknown = completion?.values;
  if (completion === undefined || !Array.isArray(values) || values.length <= MAX_VALUES) return reply;
  const { total, ...others } = completion;
  const said = (numberOf(total) ?? 0) >= values.length ? total : undefined;
  const known = said ?? (completion.hasMore === true ? undefined : values.length);
  const cut = {
    ...others,
    values: values.slice(0, MAX_VALUES),
    ...(known !== undefined && { total: known }),
    hasMore: true,
  };
  return { ...reply, result: Payload.ofObject({ ...reply.result.object, completion: cut }) };
}
