/** What is admitted of the lists of one server with one config, by its pin and its approvals. */
import type { ListAdmission } from "../../core/list-admission.js";
import type { ListKind } from "../../core/lists.js";
import type { ServerFacts } from "../../core/upstream.js";
import type { Steps } from "../../runtime/cooperative-yield.js";
import { type JsonObject, without } from "../../wire/json.js";
import { digestDefinitions } from "./lock/definition.js";
import type { Pin } from "./section.js";
import type { ServerApprovals, Verdict } from "./server-approvals.js";

/** What an admission reads and notifies. */
export interface AdmissionOptions {
  readonly pin: Pin;
  readonly approvals: ServerApprovals;
  /** The server has listed, or said something of itself. */
  readonly onSeen: () => void;
  /** What holds entries that are not approved with `observe` and `off`, too. Default: nothing. */
  readonly scan?: HoldingScan | undefined;
}

/** A scan whose findings hold. */
export interface HoldingScan {
  readonly verdict: Verdict;
  /** Why instructions are held; undefined if they are not. */
  readonly instructionsVerdict: (text: string) => string | undefined;
  /** Scans what is not approved, in steps. */
  readonly prepare: (kind: ListKind, items: readonly JsonObject[]) => Steps<void>;
  /** The same at once, as far as that takes some ms. */
  readonly prepareAtOnce: (kind: ListKind, items: readonly JsonObject[]) => void;
}

/** `observe` and `off` change nothing, except for what a scan holds. */
export function admissionOf({ pin, approvals, onSeen, scan }: AdmissionOptions): ListAdmission {
  const enforces = pin === "enforce";
  const holding = enforces ? undefined : scan;
  return {
    ...((enforces || holding !== undefined) && { prepare: preparation(holding), held: approvals }),
    admitted(kind, items) {
      onSeen();
      if (enforces) return approvals.admit(kind, items);
      if (holding === undefined) return items;
      holding.prepareAtOnce(kind, items);
      return approvals.admit(kind, items, holding.verdict);
    },
    admittedFacts: enforces
      ? approvedFacts(approvals)
      : holding === undefined
        ? (facts) => facts
        : unsuspectedFacts(approvals, holding),
    watch: (changed) => approvals.watch(changed),
  };
}

const preparation = (scan: HoldingScan | undefined): NonNullable<ListAdmission["prepare"]> =>
  function* prepare(kind, items) {
    yield* digestDefinitions(kind, items);
    if (scan !== undefined) yield* scan.prepare(kind, items);
  };

/** The same facts; with the approved instructions where a verdict holds those that the server has. */
function unsuspectedFacts(
  approvals: ServerApprovals,
  { instructionsVerdict }: HoldingScan,
): (facts: ServerFacts) => ServerFacts {
  let last:
    | { readonly facts: ServerFacts; readonly approved: string | undefined; readonly admitted: ServerFacts }
    | undefined;
  return (facts) => {
    const approved = approvals.lock?.instructions;
    const { instructions } = facts;
    if (instructions === undefined || instructions === approved) return facts;
    if (instructionsVerdict(instructions) === undefined) return facts;
    if (last?.facts !== facts || last.approved !== approved)
      last = { facts, approved, admitted: withInstructions(facts, approved) };
    return last.admitted;
  };
}

/** The same facts with the approved instructions; one object for each. */
function approvedFacts(approvals: ServerApprovals): (facts: ServerFacts) => ServerFacts {
  let known = new WeakMap<ServerFacts, ServerFacts>();
  let lock = approvals.lock;
  return (facts) => {
    if (lock !== approvals.lock) {
      known = new WeakMap();
      lock = approvals.lock;
    }
    let admitted = known.get(facts);
    if (admitted === undefined) {
      admitted = withInstructions(facts, lock?.instructions);
      known.set(facts, admitted);
    }
    return admitted;
  };
}

function withInstructions(facts: ServerFacts, instructions: string | undefined): ServerFacts {
  if (facts.instructions === instructions) return facts;
  const rest = without({ ...facts }, ["instructions"]) as unknown as ServerFacts;
  return instructions === undefined ? rest : { ...rest, instructions };
}
