/** Who needs a sign-in at a server: each person, or the one sign-in that all share? */
import { type ConfiguredServer, signsInEachPerson } from "../../config/config.js";
import { ANONYMOUS } from "../../core/client.js";
import type { Upstream } from "../../core/upstream.js";
import type { SignInNeed } from "../../telemetry/sign-in-needs.js";

/** The sign-ins at one server. */
export interface SignInNeeds {
  /** Whether each person signs in; otherwise one sign-in serves all hosts. */
  readonly isPerPerson: boolean;
  readonly needed: readonly (Pick<SignInNeed, "principal"> & Partial<SignInNeed>)[];
}

/**
 * `refused`: the persons whose calls were refused without a sign-in. Where persons sign in, the connection without credentials
 * says nothing of any of them.
 */
export function needsOf(
  config: ConfiguredServer,
  { state }: Pick<Upstream, "state">,
  refused: readonly SignInNeed[],
): SignInNeeds {
  const isPerPerson = signsInEachPerson(config);
  if (isPerPerson) return { isPerPerson, needed: refused };
  if (state !== "needs_sign_in") return { isPerPerson, needed: [] };
  const [first] = refused;
  const count = refused.reduce((sum, one) => sum + one.count, 0);
  const figures = first === undefined ? {} : { since: first.since, count };
  return { isPerPerson, needed: [{ principal: ANONYMOUS.id, ...figures }] };
}
