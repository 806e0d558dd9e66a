/** Which keys have the connections of the same clients? */
import type { RootsAnswer } from "../../core/call.js";
import { writeJson } from "../../wire/json-text.js";
import { hostWithRoots } from "../legacy/remembered-host.js";

/** The maximum number of connections of the same clients. */
const MAX_SLOTS = 32;

/** The keys of the first connection of some clients, and of those beyond it. */
export const slotsOf = (key: string, count = MAX_SLOTS): readonly string[] =>
  Array.from({ length: count }, (_, index) => (index === 0 ? key : `${key} #${index + 1}`));

/** The key of the connections of hosts with these roots, among the clients of the lease with the key `key`. */
export const keyWithRoots = (key: string, program: string, roots: RootsAnswer): string =>
  writeJson([key, "roots", hostWithRoots(program, roots)]);
