/** Has a person approved this call? Asks at the host by an elicitation, which every era has. */
import { randomUUID } from "node:crypto";
import { APPROVAL_KEY, type Call, type PolicyRoundState, type Reply, type Route } from "../../core/call.js";
import { GatewayError } from "../../core/errors.js";
import type { SharedApprovals } from "../../core/replicas.js";
import { UsedRounds } from "../../resilience/used-rounds.js";
import { retainedCopy } from "../../runtime/cache-limits.js";
import { callIdentity } from "../../runtime/canonical-digest.js";
import { isObject, objectAt, stringAt, without } from "../../wire/json.js";
import type { RuleConfig } from "./config.js";
import { type DisplayedText, displayedArguments, displayedName, isShort } from "./displayed-arguments.js";
import { ExpiringEntries } from "./expiring-entries.js";
import { identityOf } from "./identity.js";
import { argsOf } from "./rules/policy-input.js";

const MAX_REMEMBERED = 10_000;
/** Characters; more are never shown whole. */
const MAX_REMEMBERED_LENGTH = 16_384;

/** An approval that holds for a time, for one principal, one target and one set of arguments. */
export interface RememberedApproval {
  readonly id: string;
  readonly rule: string;
  readonly principal: string;
  /** The exposed name or URI, cut. */
  readonly target: string;
  readonly server: string;
  /** ISO 8601. */
  readonly until: string;
}

/** Uses something once over all replicas: false where it was used before. */
export type SingleUse = (nonce: string) => Promise<boolean>;

/** What became of an approval that was asked for. */
type ApprovalAnswer = "accepted" | "declined" | "expired";

/** An approval whose time is over. */
export interface ExpiredApproval {
  readonly rule: string;
  readonly principal: string;
  /** The exposed name or URI, cut. */
  readonly target: string;
  readonly server: string;
  /** Absent where it was asked for and no answer came. */
  readonly outcome?: "remembered";
  /** Of the call that asked. */
  readonly traceId?: string;
}

/** Who learns that the time of approvals is over. */
export interface ApprovalExpiry {
  /** How long (ms) an approval that is requested now can be given. */
  readonly answerMs: () => number;
  readonly onExpired: (approval: ExpiredApproval) => void;
}

interface KeptApproval extends RememberedApproval {
  /** It was given at another replica, which notices its end. */
  readonly isOfOther: boolean;
}

/** Approval questions, and which answers were used or are remembered; memory is bounded by LRU. */
export class Approvals {
  /** Used answers, and used rounds of approved calls: each allows one call. The seal limits how long it is valid. */
  readonly #used = new UsedRounds();
  /** Approvals that hold for a time, by rule, principal and call. */
  readonly #remembered: ExpiringEntries<KeptApproval>;
  /** Approvals that were asked for, by the one use of their answer; none without `expiry`. */
  readonly #asked: ExpiringEntries<ExpiredApproval & { readonly nonce: string }>;
  readonly #endWatch: (() => void) | undefined;

  /**
   * @param useOnce where replicas share a store. Default: answers are used once in each process
   * @param expiry default: the end of their time is not noticed
   * @param shared where replicas share a store. Default: each process remembers its own
   */
  constructor(
    private readonly useOnce?: SingleUse,
    private readonly expiry?: ApprovalExpiry,
    private readonly shared?: SharedApprovals,
  ) {
    const onRanOut =
      expiry &&
      (({ rule, principal, target, server, isOfOther }: KeptApproval) =>
        isOfOther || expiry.onExpired({ rule, principal, target, server, outcome: "remembered" }));
    this.#remembered = new ExpiringEntries(MAX_REMEMBERED, onRanOut);
    this.#asked = new ExpiringEntries(
      MAX_REMEMBERED,
      expiry && ((asked) => this.#onUnanswered(asked, expiry)),
    );
    this.#endWatch = shared?.onRevoked((isMeant) => {
      for (const [key] of this.#remembered.list()) if (isMeant(key)) this.#remembered.delete(key);
    });
  }

  /** The approvals that hold, the newest first. */
  remembered(): readonly RememberedApproval[] {
    return this.#remembered.list().map(([, { isOfOther: _, ...approval }]) => approval);
  }

  /** Forgets one, at all replicas; false where there is none here with this id. @throws GatewayError `overloaded` where it still holds */
  async revoke(id: string): Promise<boolean> {
    const found = this.#remembered.list().find(([, approval]) => approval.id === id);
    if (found === undefined) return false;
    const [key] = found;
    await this.shared?.revoke(key);
    return this.#remembered.delete(key);
  }

  /** The end of their time is no longer noticed. */
  close(): void {
    this.#remembered.close();
    this.#asked.close();
    this.#endWatch?.();
  }

  async isRemembered(rule: RuleConfig, call: Call, route: Route): Promise<boolean> {
    if (rule.rememberMs === undefined) return false;
    if (this.#remembered.size === 0 && this.shared === undefined) return false;
    const key = await keyOf(rule, call, route);
    if (key === undefined || this.#remembered.has(key)) return key !== undefined;
    const found = await this.shared?.find(key);
    if (found === undefined) return false;
    this.#remember(key, found.id, Math.min(found.leftMs, rule.rememberMs), {
      rule,
      call,
      route,
      isOfOther: true,
    });
    return true;
  }

  #remember(
    key: string,
    id: string,
    ms: number,
    { rule, call, route, isOfOther }: { rule: RuleConfig; call: Call; route: Route; isOfOther: boolean },
  ): void {
    const until = new Date(Date.now() + ms).toISOString();
    this.#remembered.set(key, { id, ...aboutCall(rule, call, route), until, isOfOther }, ms);
  }

  /**
   * The question, as the reply to the call.
   *
   * @param nonce the one use of its answer
   * @param named members of arguments that conditions refer to, and that a person should see first
   */
  async request(
    rule: RuleConfig,
    call: Call,
    route: Route,
    nonce: string,
    named: ReadonlySet<string>,
  ): Promise<Reply> {
    const { message, isCut } = await approvalPromptOf(rule, call, route, named);
    const shown = await shownIdentity(call, route);
    const asked = { rule: identityOf(rule), nonce, call: shown, ...(isCut && { isCut }) };
    if (this.expiry !== undefined) {
      const traceId = call.record?.traceId;
      const open = { nonce, ...aboutCall(rule, call, route), ...(traceId !== undefined && { traceId }) };
      this.#asked.set(nonce, open, this.expiry.answerMs());
    }
    return {
      kind: "input_required",
      requests: {
        [APPROVAL_KEY]: {
          method: "elicitation/create",
          params: {
            mode: "form",
            message,
            requestedSchema: { type: "object", properties: {} },
          },
        },
      },
      state: { policy: { asked, rounds: 0 } },
    };
  }

  /**
   * Takes the answer to the question.
   *
   * @throws GatewayError `state_rejected` when the answer was used before, or a new config has changed the call that was shown.
   */
  async accept(
    rule: RuleConfig,
    call: Call,
    route: Route,
    asked: NonNullable<PolicyRoundState["asked"]>,
  ): Promise<ApprovalAnswer> {
    if (asked.rule !== identityOf(rule)) throw approvalUsed();
    await this.#use(call, asked.nonce);
    this.#asked.delete(asked.nonce);
    if (call.inputResponses?.unanswered?.has(APPROVAL_KEY) === true) return "expired";
    if (stringAt(objectAt(call.inputResponses?.responses, APPROVAL_KEY), "action") !== "accept")
      return "declined";
    if (asked.call !== (await shownIdentity(call, route))) {
      const sentence = "the config has changed this call since its approval was asked for; make it again";
      throw new GatewayError("state_rejected", "gateway", sentence);
    }
    // Where not all was shown, the approval holds for this call only.
    if (asked.isCut !== true) await this.#keep(rule, call, route);
    return "accepted";
  }

  /**
   * Uses the decision of another person, which allows one call.
   *
   * @param id of the decision
   * @throws GatewayError `state_rejected` when it was used before, at any replica
   */
  async acceptOther(rule: RuleConfig, call: Call, route: Route, id: string): Promise<void> {
    await this.#use(call, id);
    await this.#keep(rule, call, route);
  }

  /** Remembers the approval of a rule with `remember`. */
  async #keep(rule: RuleConfig, call: Call, route: Route): Promise<void> {
    if (rule.rememberMs === undefined) return;
    const digest = keyOf(rule, call, route);
    if (digest === undefined) return;
    const key = await digest;
    const id = randomUUID();
    this.#remember(key, id, rule.rememberMs, { rule, call, route, isOfOther: false });
    await this.shared?.keep(key, id, rule.rememberMs);
  }

  /**
   * Continues a call that was approved in an earlier round. Its state allows that once: one approval, one run.
   *
   * @throws GatewayError `state_rejected` when the round was continued before, at any replica
   */
  async continueApproved(call: Call): Promise<void> {
    await this.#use(call, call.inputResponses?.round?.id ?? "");
  }

  /** `id`: of an answer or a round. */
  async #use(call: Call, id: string): Promise<void> {
    if (!this.#used.use(call.client.principal, id)) throw approvalUsed();
    if (this.useOnce !== undefined && !(await this.useOnce(id))) throw approvalUsed();
  }

  /** Another replica may have used the answer; from now on none can. */
  #onUnanswered(
    { nonce, ...asked }: ExpiredApproval & { readonly nonce: string },
    expiry: ApprovalExpiry,
  ): void {
    if (this.useOnce === undefined) expiry.onExpired(asked);
    else
      this.useOnce(nonce).then(
        (isUnused) => isUnused && expiry.onExpired(asked),
        () => expiry.onExpired(asked),
      );
  }
}

const approvalUsed = (): GatewayError =>
  new GatewayError("state_rejected", "downstream", "this approval belongs to another call, or was used");

/** The digest of a call as a person is shown it. The config may add arguments to those of the host, and rename a target: no seal of the state covers that. */
export const shownIdentity = (call: Call, { upstream, target }: Route): string | Promise<string> =>
  callIdentity(call, upstream, target, argsOf(call));

const aboutCall = (rule: RuleConfig, call: Call, route: Route) => ({
  rule: rule.name,
  principal: call.client.principal.id,
  target: retainedCopy(route.exposed.slice(0, MAX_NAME_LENGTH)),
  server: route.upstream,
});

/** `elicitation: {}` means forms; a host that can only show URLs cannot show ours. */
export function supportsFormElicitation({ client }: Pick<Call, "client">): boolean {
  const elicitation = objectAt(client.capabilities, "elicitation");
  if (elicitation === undefined) return false;
  return !Object.hasOwn(elicitation, "url") || Object.hasOwn(elicitation, "form");
}

/** One approval holds for one principal, one target and one set of arguments; undefined where they were not shown whole. */
function keyOf(rule: RuleConfig, call: Call, { upstream, target }: Route) {
  const args = argsOf(call);
  return isShort(args, MAX_REMEMBERED_LENGTH)
    ? callIdentity(call, upstream, target, args, identityOf(rule))
    : undefined;
}

/** Characters of a name or URI. */
const MAX_NAME_LENGTH = 500;

interface ApprovalPrompt {
  readonly message: string;
  /** Whether something of the call is not shown: then the person approves this very call, and none like it. */
  readonly isCut: boolean;
}

async function approvalPromptOf(
  rule: RuleConfig,
  call: Call,
  route: Route,
  named: ReadonlySet<string>,
): Promise<ApprovalPrompt> {
  // Fixed arguments are not the caller's choice, and may be keys that the host must not see.
  const given = argsOf(call);
  const args = isObject(given) ? without(given, Object.keys(route.configuredArguments?.fixed ?? {})) : {};
  const name = displayedName(route.exposed, MAX_NAME_LENGTH);
  const { text, cut } = await displayedArguments(args, named);
  const lines = [
    ...(rule.message === undefined ? [] : [rule.message]),
    `Allow "${name.text}" of server "${route.upstream}" with these arguments?`,
    ...(name.cut === undefined ? [] : [truncationNote("Its name is", "name", name.cut)]),
    ...(cut === undefined ? [] : [truncationNote("The arguments are", "arguments", cut)]),
  ];
  const isCut = name.cut !== undefined || cut !== undefined;
  const alone = isCut && rule.rememberMs !== undefined ? ["The approval holds for this call only."] : [];
  return { message: [...lines, ...alone, text].join("\n"), isCut };
}

const truncationNote = (
  what: string,
  whole: string,
  { bytes, sha256 }: NonNullable<DisplayedText["cut"]>,
): string => `${what} cut: not all can be shown. The whole ${whole}: ${bytes} bytes, SHA-256 ${sha256}.`;
