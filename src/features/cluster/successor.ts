/** Which replica takes over a session that leaves its own? */
import { createHmac } from "node:crypto";
import type { ReplicaDirectory } from "../../core/replicas.js";

/**
 * Every replica chooses the same one of `others` (rendezvous hashing), among those that stay; undefined if none does.
 *
 * @param id of the session
 */
export function successorOf(id: string, others: ReturnType<ReplicaDirectory["others"]>): string | undefined {
  const weighed = others
    .filter(({ isLeaving }) => !isLeaving)
    .map((replica) => ({
      id: replica.id,
      weight: createHmac("sha256", replica.id).update(id).digest("hex"),
    }));
  return weighed.sort((one, two) => (one.weight < two.weight ? 1 : -1))[0]?.id;
}
