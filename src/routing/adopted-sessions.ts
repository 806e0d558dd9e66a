/**
 * What does a host learn whose session another process has taken over? With the first result of each server that runs as a
 * process of this machine: that process is another one, and has nothing of what the one before kept in memory.
 */
import type { Handler, Middleware, Reply } from "../core/call.js";
import type { Logger } from "../core/logger.js";
import { objectAt } from "../wire/json.js";
import { OWN_META } from "../wire/names.js";
import { Payload } from "../wire/payload.js";

/** Marks the first result of a tool of `server` in each adopted session, and logs it. */
export const markAdopted =
  (server: string, logger: Logger): Middleware =>
  (next: Handler): Handler =>
    function markAdopted(call) {
      const { adoption, affinity } = call.client;
      if (adoption === undefined || call.method !== "tools/call") return next(call);
      return next(call).then((reply) => {
        if (reply.kind !== "result" || !adoption.isFirstResultOf(server)) return reply;
        logger.info(
          { session: affinity.slice(0, 8), server, from: adoption.from },
          "a session that was taken over uses a server whose process is another one than before",
        );
        return marked(reply);
      });
    };

function marked(reply: Extract<Reply, { kind: "result" }>): Reply {
  const { object } = reply.result;
  const _meta = { ...objectAt(object, "_meta"), [OWN_META.adopted]: true };
  return { ...reply, result: Payload.ofObject({ ...object, _meta }) };
}
