/**
 * Approvals of all replicas: listed and decided at each of them, and asked about at hosts of each. Of the replicas at which an approval
 * is open, the one with the lowest id ends it, so that it ends once; it tells the others. Without other replicas these are the approvals
 * of this process.
 */
import { inBackground, type Logger } from "../../../core/logger.js";
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
const EXPIRE = "approvals:expire";
const OPENED = "approvals:opened";
const ENDED = "approvals:ended";

/** What these approvals need. */
export interface ApprovalsOfReplicasOptions {
  /** To replicas, or to workers of this machine; undefined where there are no other processes. */
  readonly messages: FeatureMessages | undefined;
  /** Whether the others are replicas: they list all approvals, and continue each other's calls. */
  readonly isShared: boolean;
  /** Of this process, with the config in effect. */
  readonly own: () => OpenApprovals | undefined;
  readonly logger: Logger;
  /** One has opened at another replica. */
  readonly onOpened: (approval: OpenApproval) => void;
  /** One has ended at another replica, and is not open here. */
  readonly onEnded: (id: string) => void;
}

/** What other replicas know of an approval. */
interface Found {
  /** Where it is open, this replica included; the lowest id first. */
  readonly openAt: readonly string[];
  /** How it has ended at one of them. */
  readonly end: ApprovalEnd | undefined;
}

/** The approvals, as operators and other replicas see them. */
export class ApprovalsOfReplicas {
  readonly #options: ApprovalsOfReplicasOptions;
  readonly #messages: FeatureMessages | undefined;
  readonly #own: () => OpenApprovals | undefined;

  constructor(options: ApprovalsOfReplicasOptions) {
    const { messages, own } = options;
    this.#options = options;
    this.#messages = messages;
    this.#own = own;
    messages?.answer(LIST, () => ({ approvals: own()?.list().slice(0, MAX_LISTED) ?? [] }));
    messages?.answer(FIND, (message) => this.#onFind(message));
    messages?.answer(DECIDE, (message) => this.#onDecide(message));
    messages?.answer(EXPIRE, (message) => this.#onExpire(message));
    messages?.answer(OPENED, (message) => this.#onOpened(message));
    messages?.answer(ENDED, (message) => this.#onEnded(message));
  }

  /** Whether other processes can continue a call that waits. */
  get isShared(): boolean {
    return this.#options.isShared;
  }

  /** What operators see here, the newest first: of workers each lists its own. */
  async list(): Promise<readonly OpenApproval[]> {
    return this.isShared ? this.all() : (this.#own()?.list() ?? []);
  }

  /** Those of all processes, the newest first; those that do not answer are left out. */
  async all(): Promise<readonly OpenApproval[]> {
    const own = this.#own()?.list() ?? [];
    if (this.#messages === undefined) return own;
    const answers = await this.#messages.ask(LIST, {});
    const others = answers.flatMap(({ approvals }) =>
      Array.isArray(approvals) ? approvals.filter(isApproval) : [],
    );
    // One that was continued at another replica is open at both.
    const byId = new Map([...others, ...own].map((approval) => [approval.id, approval]));
    return [...byId.values()].toSorted((a, b) => b.at - a.at);
  }

  /** An approver decides: undefined, or why that cannot be, as a sentence. */
  async decide(id: string, decided: Decided, by: Decider): Promise<string | undefined> {
    const messages = this.#messages;
    if (messages === undefined) return this.#decideHere(id, decided, by);
    const { openAt, end } = await this.#find(id, messages);
    const [at] = openAt;
    if (end !== undefined || at === undefined) return NOT_OPEN;
    if (at === messages.own) return this.#decideHere(id, decided, by);
    const answers = await messages.ask(DECIDE, { id, decided, by: { ...by }, at });
    const answer = answers.find(({ isDone }) => isDone !== undefined);
    if (answer === undefined) return "the replica at which this approval is open did not answer; try again";
    return answer.isDone === true ? undefined : (stringAt(answer, "refusal") ?? NOT_OPEN);
  }

  /** The time of an approval is over: it ends, at whichever replica it is open. */
  due(id: string): void {
    inBackground(this.#expire(id), this.#options.logger, "ending an approval whose time is over");
  }

  /** How an approval has ended at another replica; undefined where none knows. */
  async endOf(id: string): Promise<ApprovalEnd | undefined> {
    const answers = (await this.#messages?.ask(FIND, { id })) ?? [];
    return answers.map(({ end }) => end).find(isEnd);
  }

  /** Tells the others that it is open here, so that they ask approvers at their hosts. */
  async opened(approval: OpenApproval): Promise<void> {
    await this.#messages?.ask(OPENED, { approval: { ...approval } });
  }

  /** Tells the others. */
  async ended({ id, expiresAt }: OpenApproval, end: ApprovalEnd): Promise<void> {
    await this.#messages?.ask(ENDED, { id, expiresAt, end });
  }

  #decideHere(id: string, decided: Decided, by: Decider): string | undefined {
    const own = this.#own();
    return own === undefined ? NOT_OPEN : own.decide(id, decided, by);
  }

  async #expire(id: string): Promise<void> {
    const messages = this.#messages;
    const end = messages === undefined ? undefined : await this.#expiredElsewhere(id, messages);
    const own = this.#own();
    const approval = own?.get(id);
    if (own === undefined || approval === undefined) return;
    if (end === undefined) own.end(id, "expired");
    else own.endElsewhere(approval, end);
  }

  /** How it has ended at the replica that ends it; undefined where that is this one, or no other answers. */
  async #expiredElsewhere(id: string, messages: FeatureMessages): Promise<ApprovalEnd | undefined> {
    const { openAt, end } = await this.#find(id, messages);
    const [at] = openAt;
    if (end !== undefined || at === undefined || at === messages.own) return end;
    const answers = await messages.ask(EXPIRE, { id, at });
    return answers.map((answer) => answer.end).find(isEnd);
  }

  /** Takes over an end that is known elsewhere. */
  async #find(id: string, messages: FeatureMessages): Promise<Found> {
    const answers = await messages.ask(FIND, { id });
    const own = this.#own();
    const approval = own?.get(id);
    const end = answers.map((answer) => answer.end).find(isEnd) ?? own?.endOf(id);
    if (end !== undefined && approval !== undefined) own?.endElsewhere(approval, end);
    const others = answers.flatMap(({ isOpen, replica }) =>
      isOpen === true && typeof replica === "string" ? [replica] : [],
    );
    const openAt = [...others, ...(approval === undefined ? [] : [messages.own])];
    return { openAt: openAt.toSorted(), end };
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
    const refusal = this.#decideHere(stringAt(message, "id") ?? "", decided, by);
    return refusal === undefined ? { isDone: true } : { isDone: false, refusal };
  }

  /** The clocks of replicas differ: it is over where the first one says that. */
  #onExpire(message: JsonObject): JsonObject {
    const own = this.#own();
    const id = stringAt(message, "id") ?? "";
    if (message.at !== this.#messages?.own) return {};
    own?.end(id, "expired");
    const end = own?.endOf(id);
    return end === undefined ? {} : { end };
  }

  #onOpened({ approval }: JsonObject): JsonObject {
    if (isApproval(approval)) this.#options.onOpened(approval);
    return {};
  }

  #onEnded(message: JsonObject): JsonObject {
    const { end, expiresAt } = message;
    const id = stringAt(message, "id");
    if (id === undefined || !isEnd(end) || typeof expiresAt !== "number") return {};
    this.#own()?.endElsewhere({ id, expiresAt }, end);
    if (this.#own()?.get(id) === undefined) this.#options.onEnded(id);
    return {};
  }
}

const ENDS: ReadonlySet<unknown> = new Set<ApprovalEnd>(["accepted", "declined", "expired", "withdrawn"]);
const isEnd = (value: unknown): value is ApprovalEnd => ENDS.has(value);

/** The other replica has the same key, and says what it has checked. */
const isApproval = (value: unknown): value is OpenApproval =>
  isObject(value) &&
  [value.id, value.tool, value.server, value.principal, value.principalKey, value.rule].every(
    (text) => typeof text === "string",
  ) &&
  [value.at, value.expiresAt].every((time) => typeof time === "number") &&
  Array.isArray(value.approvers);

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
