/**
 * Approvals of all replicas: listed and decided at each of them. The one at which an approval is open decides it, and tells the
 * others of its end. Without other replicas these are the approvals of this process.
 */
import type { FeatureMessages } from "../../../core/replicas.js";
import { isObject, type JsonObject, objectAt, stringAt } from "../../../wire/json.js";
import type { Decider } from "./approvers.js";
import type { ApprovalEnd, Decided, OpenApproval, OpenApprovals } from "./open-approvals.js";

/** Approvals of one replica in a list: their texts fit into one message. */
const MAX_LISTED = 200;
const NOT_OPEN = "there is no such open approval";

const LIST = "approvals:list";
const FIND = "approvals:find";
const DECIDE = "approvals:decide";
const ENDED = "approvals:ended";

/** The approvals, as operators and other replicas see them. */
export class ApprovalsOfReplicas {
  readonly #messages: FeatureMessages | undefined;
  readonly #own: () => OpenApprovals | undefined;

  /**
   * @param messages undefined where there are no other replicas
   * @param own of this process, with the config in effect
   */
  constructor(messages: FeatureMessages | undefined, own: () => OpenApprovals | undefined) {
    this.#messages = messages;
    this.#own = own;
    messages?.answer(LIST, () => ({ approvals: own()?.list().slice(0, MAX_LISTED) ?? [] }));
    messages?.answer(FIND, (message) => this.#onFind(message));
    messages?.answer(DECIDE, (message) => this.#onDecide(message));
    messages?.answer(ENDED, (message) => this.#onEnded(message));
  }

  /** Whether other processes can continue a call that waits. */
  get isShared(): boolean {
    return this.#messages !== undefined;
  }

  /** The newest first; those of replicas that do not answer are left out. */
  async list(): Promise<readonly OpenApproval[]> {
    const own = this.#own()?.list() ?? [];
    if (this.#messages === undefined) return own;
    const answers = await this.#messages.ask(LIST, {});
    const others = answers.flatMap(({ approvals }) =>
      Array.isArray(approvals) ? approvals.filter(isObject) : [],
    ) as readonly JsonObject[] as readonly unknown[] as readonly OpenApproval[];
    // One that was continued at another replica is open at both.
    const byId = new Map([...others, ...own].map((approval) => [approval.id, approval]));
    return [...byId.values()].toSorted((a, b) => b.at - a.at);
  }

  /** An approver decides: undefined, or why that cannot be, as a sentence. */
  async decide(id: string, decided: Decided, by: Decider): Promise<string | undefined> {
    const own = this.#own();
    if (own?.get(id) !== undefined || this.#messages === undefined)
      return own === undefined ? NOT_OPEN : own.decide(id, decided, by);
    const found = await this.#messages.ask(FIND, { id });
    const at = found.find(({ isOpen }) => isOpen === true);
    if (at === undefined) return NOT_OPEN;
    const answers = await this.#messages.ask(DECIDE, { id, decided, by: { ...by }, at: at.replica });
    const answer = answers.find(({ isDone }) => isDone !== undefined);
    if (answer === undefined) return "the replica at which this approval is open did not answer; try again";
    return answer.isDone === true ? undefined : (stringAt(answer, "refusal") ?? NOT_OPEN);
  }

  /** How an approval has ended at another replica; undefined where none knows. */
  async endOf(id: string): Promise<ApprovalEnd | undefined> {
    const answers = (await this.#messages?.ask(FIND, { id })) ?? [];
    return answers.map(({ end }) => end).find(isEnd);
  }

  /** Tells the others. */
  async ended({ id, expiresAt }: OpenApproval, end: ApprovalEnd): Promise<void> {
    await this.#messages?.ask(ENDED, { id, expiresAt, end });
  }

  #onFind(message: JsonObject): JsonObject {
    const own = this.#own();
    const id = stringAt(message, "id") ?? "";
    const end = own?.endOf(id);
    return {
      replica: this.#messages?.own ?? "",
      isOpen: own?.get(id) !== undefined,
      ...(end !== undefined && { end }),
    };
  }

  #onDecide(message: JsonObject): JsonObject {
    const by = deciderIn(message);
    const decided = message.decided === "accepted" ? "accepted" : "declined";
    if (message.at !== this.#messages?.own || by === undefined) return {};
    const refusal = this.#own()?.decide(stringAt(message, "id") ?? "", decided, by);
    return refusal === undefined ? { isDone: true } : { isDone: false, refusal };
  }

  #onEnded(message: JsonObject): JsonObject {
    const { end, expiresAt } = message;
    const id = stringAt(message, "id");
    if (id !== undefined && isEnd(end) && typeof expiresAt === "number")
      this.#own()?.endElsewhere({ id, expiresAt }, end);
    return {};
  }
}

const ENDS: ReadonlySet<unknown> = new Set<ApprovalEnd>(["accepted", "declined", "expired", "withdrawn"]);
const isEnd = (value: unknown): value is ApprovalEnd => ENDS.has(value);

/** The other replica has authenticated it. */
function deciderIn(message: JsonObject): Decider | undefined {
  const by = objectAt(message, "by");
  const principal = objectAt(by, "principal");
  const id = stringAt(principal, "id");
  if (by === undefined || principal === undefined || id === undefined) return undefined;
  const key = stringAt(principal, "key");
  const groups: readonly unknown[] = Array.isArray(principal.groups) ? principal.groups : [];
  return {
    principal: {
      id,
      ...(key !== undefined && { key }),
      groups: groups.filter((group) => typeof group === "string"),
    },
    isOperator: by.isOperator === true,
    address: stringAt(by, "address"),
  };
}
