/** What is admitted of the lists of one server with one config, by its pin and its approvals. */
import type { ListAdmission } from "../../core/list-admission.js";
import type { ServerFacts } from "../../core/upstream.js";
import { without } from "../../wire/json.js";
import { digestDefinitions } from "./lock/definition.js";
import type { Pin } from "./section.js";
import type { ServerApprovals, Verdict } from "./server-approvals.js";

/** What an admission reads and notifies. */
export interface AdmissionOptions {
  readonly pin: Exclude<Pin, "off">;
  readonly approvals: ServerApprovals;
  /** The server has listed, or said something of itself. */
  readonly onSeen: () => void;
  /** What holds entries that are not approved with `observe`, too. Default: nothing. */
  readonly verdict?: Verdict | undefined;
}

/** `observe` changes nothing, except for what a verdict holds. */
export function admissionOf({ pin, approvals, onSeen, verdict }: AdmissionOptions): ListAdmission {
  const enforces = pin === "enforce";
  const holds = enforces || verdict !== undefined;
  return {
    ...(holds && { prepare: digestDefinitions, held: approvals }),
    admitted(kind, items) {
      onSeen();
      return holds ? approvals.admit(kind, items, enforces ? undefined : verdict) : items;
    },
    admittedFacts: enforces ? approvedFacts(approvals) : (facts) => facts,
    watch: (changed) => approvals.watch(changed),
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
