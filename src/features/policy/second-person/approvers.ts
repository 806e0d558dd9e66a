/** Who may decide an approval? */
import type { Principal } from "../../../core/client.js";
import { principalKey } from "../../../core/principal.js";
import type { RuleConfig } from "../config.js";
import type { OpenApproval } from "./open-approvals.js";

/** Who decides, or looks what there is to decide. */
export interface Decider {
  readonly principal: Pick<Principal, "id" | "key" | "groups">;
  /** Whether it has a token of the listener for operators, which every approval accepts. */
  readonly isOperator: boolean;
  /** Where the decision came from. */
  readonly address?: string | undefined;
}

/** How entries for groups begin. */
const GROUP_PREFIX = "group:";

/** What is wrong with the keys of a rule about approvers, by key. */
export function faultsOfApprovers({
  effect,
  approvers,
  approvalTimeoutMs,
  notify,
}: RuleConfig): [string, string][] {
  if (approvers === undefined) {
    const needing = [
      ...(approvalTimeoutMs === undefined ? [] : ["approvalTimeout"]),
      ...(notify === undefined ? [] : ["notify"]),
    ];
    return needing.map((key) => [key, 'this key needs "approvers"']);
  }
  if (effect !== "approve") return [["approvers", 'this key needs the effect "approve"']];
  return approvers.includes(GROUP_PREFIX) ? [["approvers", '"group:" needs the name of a group']] : [];
}

/** Whether the principal is one of `approvers`: ids, and groups with their prefix. */
export const isApprover = (
  approvers: readonly string[],
  { id, groups }: Pick<Principal, "id" | "groups">,
): boolean =>
  approvers.some((entry) =>
    entry.startsWith(GROUP_PREFIX) ? groups.includes(entry.slice(GROUP_PREFIX.length)) : entry === id,
  );

/** Why `decider` may not decide; undefined where it may. */
export function refusalOf(approval: OpenApproval, { principal, isOperator }: Decider): string | undefined {
  if (isOwn(approval, principal)) return "this is a call of your own, which another person decides";
  return isOperator || isApprover(approval.approvers, principal)
    ? undefined
    : `only approvers of the rule "${approval.rule}" decide this`;
}

/** Equal ids of two sources may be one person, who has signed in twice: they count as the same. */
const isOwn = (approval: OpenApproval, principal: Decider["principal"]): boolean =>
  approval.principalKey === principalKey(principal) || approval.principal === principal.id;
