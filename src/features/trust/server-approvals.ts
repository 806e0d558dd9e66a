/** Which definitions of one server are approved, and which of its entries are held? Outlives configs. */
import { couldExpandTo } from "../../catalog/naming.js";
import { GatewayError } from "../../core/errors.js";
import type { HeldEntries } from "../../core/list-admission.js";
import { LIST_KINDS, type ListKind } from "../../core/lists.js";
import { shortText } from "../../core/short-text.js";
import type { JsonObject } from "../../wire/json.js";
import { acceptsStill } from "./lock/accepts-still.js";
import { definitionDigest, nameOf } from "./lock/definition.js";
import { clauseOf } from "./lock/describe-difference.js";
import { byName, type Difference, subjectOf } from "./lock/differences.js";
import type { ServerLock } from "./lock/lock.js";

/** Of one kind: the definitions by name, and the digests of all of them. */
interface ApprovedList {
  readonly byName: ReadonlyMap<string, readonly JsonObject[]>;
  readonly digests: ReadonlySet<string>;
}

/** A held entry: why, and whether lists show its approved definition. */
interface HeldEntry {
  readonly clause: string;
  readonly isListed: boolean;
}

/** What else than the lock holds an entry that is not approved; undefined: nothing. */
export type Verdict = (kind: ListKind, item: JsonObject) => string | undefined;

const NO_NAMES: readonly string[] = [];

/** The approvals of one server. */
export class ServerApprovals implements HeldEntries {
  readonly server: string;
  /** Undefined while the lock has nothing of the server. */
  #lock: ServerLock | undefined;
  /** Why nothing is approved, as a clause; undefined while there is a lock. */
  #lack: string | undefined;
  #approved = approvedLists(undefined);
  readonly #held = heldMaps();
  readonly #unlisted = new Map<ListKind, readonly string[]>();
  readonly #watchers = new Set<() => void>();

  constructor(server: string) {
    this.server = server;
  }

  get lock(): ServerLock | undefined {
    return this.#lock;
  }

  /** Another lock holds from now on. `lack`: why there is none. */
  use(lock: ServerLock | undefined, lack: string | undefined): void {
    if (lock === this.#lock && lack === this.#lack) return;
    this.#lock = lock;
    this.#lack = lack;
    this.#approved = approvedLists(lock);
    this.evaluateAnew();
  }

  /** Calls `changed` when another lock holds, until the returned function is called. */
  watch(changed: () => void): () => void {
    this.#watchers.add(changed);
    return () => this.#watchers.delete(changed);
  }

  /** The verdicts on entries that are not approved are other ones than before. */
  evaluateAnew(): void {
    this.#release();
    for (const changed of this.#watchers) changed();
  }

  /** Without approvals, no digest is made. */
  isApproved(kind: ListKind, item: JsonObject): boolean {
    const { digests } = this.#approved[kind];
    return digests.size > 0 && digests.has(definitionDigest(kind, item));
  }

  /** What hosts see in place of `items`. `verdict`: holds what it has a sentence for; undefined: all that is not approved is held. */
  admit(kind: ListKind, items: readonly JsonObject[], verdict?: Verdict): readonly JsonObject[] {
    let isSame = true;
    const admitted = items.flatMap((item): readonly JsonObject[] => {
      if (this.isApproved(kind, item)) return [item];
      const clause = verdict === undefined ? this.#clauseFor(kind, item) : verdict(kind, item);
      if (clause === undefined) return [item];
      isSame = false;
      const shown = this.#approvedFor(kind, item);
      this.#hold(kind, nameOf(kind, item), { clause, isListed: shown !== undefined });
      return shown === undefined ? [] : [shown];
    });
    return isSame ? items : admitted;
  }

  #release(): void {
    for (const kind of LIST_KINDS) this.#held[kind].clear();
    this.#unlisted.clear();
  }

  /** Releases what is held and not among `open`: what is not approved of all lists that the server has now. */
  keepHeld(open: readonly Pick<Difference, "kind" | "name">[]): void {
    for (const kind of LIST_KINDS) {
      const names = new Set(open.filter((each) => each.kind === kind).map(({ name }) => name));
      for (const name of this.#held[kind].keys()) {
        if (names.has(name)) continue;
        this.#held[kind].delete(name);
        this.#unlisted.delete(kind);
      }
    }
  }

  get heldCount(): number {
    return LIST_KINDS.reduce((sum, kind) => sum + this.#held[kind].size, 0);
  }

  unlisted(kind: "tools" | "prompts"): readonly string[] {
    let names = this.#unlisted.get(kind);
    if (names === undefined) {
      const all = [...this.#held[kind]].filter(([, { isListed }]) => !isListed).map(([name]) => name);
      names = all.length === 0 ? NO_NAMES : all;
      this.#unlisted.set(kind, names);
    }
    return names;
  }

  refusal(kind: ListKind, own: string): GatewayError | undefined {
    const held = this.#held[kind].get(own);
    if (held !== undefined) return this.#quarantined(kind, own, held.clause);
    if (kind !== "resources" || this.#held.resourceTemplates.size === 0) return undefined;
    return this.#templateRefusal(own);
  }

  /** A URI that only a held template makes. */
  #templateRefusal(uri: string): GatewayError | undefined {
    const held = this.#held.resourceTemplates;
    const template = [...held.keys()].find((each) => couldExpandTo(each, uri));
    if (template === undefined || this.#approved.resources.byName.has(uri)) return undefined;
    const approved = [...this.#approved.resourceTemplates.byName.keys()];
    if (approved.some((each) => !held.has(each) && couldExpandTo(each, uri))) return undefined;
    return this.#quarantined("resourceTemplates", template, held.get(template)?.clause ?? "");
  }

  #hold(kind: ListKind, name: string, entry: HeldEntry): void {
    this.#held[kind].set(name, entry);
    this.#unlisted.delete(kind);
  }

  #clauseFor(kind: ListKind, item: JsonObject): string {
    if (this.#lack !== undefined) return this.#lack;
    const approved = this.#approved[kind].byName.get(nameOf(kind, item)) ?? [];
    const change = approved.length === 0 ? "new" : "changed";
    return clauseOf({ kind, name: nameOf(kind, item), change, approved, now: [item] });
  }

  /** The approved definition by which the server still takes the call. */
  #approvedFor(kind: ListKind, item: JsonObject): JsonObject | undefined {
    const approved = this.#approved[kind].byName.get(nameOf(kind, item)) ?? [];
    return approved.find((each) => kind !== "tools" || acceptsStill(each.inputSchema, item.inputSchema));
  }

  #quarantined(kind: ListKind, own: string, clause: string): GatewayError {
    const what = shortText(subjectOf({ kind, name: own }), 200);
    const message = `${what} of ${this.server} is quarantined: ${clause}. "cardea approve ${this.server}" shows what differs and approves it.`;
    return new GatewayError("quarantined", "gateway", message, { server: this.server });
  }
}

const heldMaps = (): Record<ListKind, Map<string, HeldEntry>> => ({
  tools: new Map(),
  prompts: new Map(),
  resources: new Map(),
  resourceTemplates: new Map(),
});

const approvedLists = (lock: ServerLock | undefined): Readonly<Record<ListKind, ApprovedList>> =>
  Object.fromEntries(
    LIST_KINDS.map((kind) => {
      const items = lock?.lists[kind] ?? [];
      const digests = new Set(items.map((item) => definitionDigest(kind, item)));
      return [kind, { byName: byName(kind, items), digests }];
    }),
  ) as unknown as Readonly<Record<ListKind, ApprovedList>>;
