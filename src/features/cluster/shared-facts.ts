/**
 * What all replicas know: each keeps every fact in memory, and tells the others of a change directly. A fact has a version, and
 * the highest one holds, so that no earlier one comes back; the end of a fact is a version too. Nothing of it is in the store.
 */
import { LRUCache } from "lru-cache";
import { inBackground, type Logger } from "../../core/logger.js";
import type { Replica } from "../../core/replicas.js";
import { isObject, type JsonObject } from "../../wire/json.js";
import type { PeerMessages } from "./peer-messages.js";

/** One fact. */
export interface Fact {
  readonly version: number;
  /** Undefined once it has ended. */
  readonly value?: JsonObject;
  readonly leftMs: number;
}

/** Facts of one kind. */
export interface SharedFactsOptions {
  readonly messages: PeerMessages;
  /** The kind; facts of other kinds are not confused with it. */
  readonly kind: string;
  /** How long (ms) a fact, or its end, is kept at most. */
  readonly lifeMs: number;
  readonly logger: Logger;
  /** Called when another replica has reported a change. */
  readonly onTold?: (key: string, fact: Fact) => void;
}

interface KnownFact {
  readonly version: number;
  readonly value?: JsonObject;
  /** By `performance.now()`. */
  readonly until: number;
  /** Whether messages may have been lost since. */
  readonly isDoubted?: boolean;
}

const MAX_FACTS = 100_000;
const MAX_KEY_LENGTH = 300;
/** Facts in one message. */
const MAX_TOLD = 1_000;
/** A replica that was not reached gets all facts after this time (ms). */
const AGAIN_MS = 1_000;

/** The facts of one kind, as this replica knows them. */
export class SharedFacts {
  readonly #known = new LRUCache<string, KnownFact>({ max: MAX_FACTS });
  readonly #topic: string;
  readonly #changed = new Set<string>();
  /** Replicas that have missed a change. */
  readonly #behind = new Set<string>();
  #again: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(private readonly options: SharedFactsOptions) {
    this.#topic = `facts:${options.kind}`;
    options.messages.answer(this.#topic, (message) => this.#answer(message));
  }

  /** What is known here. */
  local(key: string): Fact | undefined {
    const known = this.#known.get(key);
    const leftMs = (known?.until ?? 0) - performance.now();
    if (known === undefined || leftMs <= 0) return undefined;
    const { version, value } = known;
    return { version, leftMs, ...(value !== undefined && { value }) };
  }

  /** Whether this replica knows that it has ended. */
  hasEnded(key: string): boolean {
    const known = this.local(key);
    return known !== undefined && known.value === undefined;
  }

  /** What any replica knows. Asks the others unless a value is known here for certain. */
  async find(key: string): Promise<Fact | undefined> {
    const known = this.local(key);
    if (known !== undefined && this.#known.get(key)?.isDoubted !== true) return known;
    return this.ask(key);
  }

  /** The same, and always asks. */
  async ask(key: string): Promise<Fact | undefined> {
    return (await this.askAll(key)).fact;
  }

  /** The same, with the replicas that may run and did not answer: without a fact these may know it. */
  async askAll(
    key: string,
  ): Promise<{ readonly fact: Fact | undefined; readonly unreached: readonly string[] }> {
    const { answers, unreached } = await this.options.messages.ask(this.#topic, { ask: key });
    for (const { answer } of answers) if (Array.isArray(answer.fact)) this.#merge(answer.fact);
    const known = this.#known.get(key);
    if (known?.isDoubted === true && unreached.length === 0)
      this.#known.set(key, { ...known, isDoubted: false });
    return { fact: this.local(key), unreached };
  }

  /** Sets a fact here; without a value it has ended. Default: it lives as long as it can, and is the next version. */
  set(
    key: string,
    value: JsonObject | undefined,
    { lifeMs = this.options.lifeMs, version = this.next(key) } = {},
  ): void {
    if (version < this.next(key)) return;
    this.#known.set(key, {
      version,
      until: performance.now() + lifeMs,
      ...(value !== undefined && { value }),
    });
  }

  /** The version that a change would have. */
  next(key: string): number {
    return (this.#known.get(key)?.version ?? 0) + 1;
  }

  /** Keeps a fact for its whole life again. */
  renew(key: string): void {
    const known = this.#known.get(key);
    if (known !== undefined)
      this.#known.set(key, { ...known, until: performance.now() + this.options.lifeMs });
  }

  /** Forgets a fact here, as if it had never been known. */
  forget(key: string): void {
    this.#known.delete(key);
  }

  /** Messages may have been lost: each fact is asked for before it is used again. */
  doubt(): void {
    for (const [key, known] of this.#known.entries()) this.#known.set(key, { ...known, isDoubted: true });
  }

  /** Tells all others of a fact. Resolves to the replicas that may run and were not reached. */
  async tell(key: string): Promise<readonly string[]> {
    const { unreached } = await this.options.messages.ask(this.#topic, { tell: this.#told([key]) });
    this.#missed(unreached);
    return unreached;
  }

  /** Tells all others soon, several facts at once. */
  tellSoon(key: string): void {
    this.#changed.add(key);
    if (this.#changed.size > 1) return;
    setImmediate(() => inBackground(this.#tellChanged(), this.options.logger, "telling other replicas"));
  }

  /** Tells one replica everything. */
  async tellAll(replica: Replica): Promise<void> {
    const keys = [...this.#known.keys()].reverse();
    for (let at = 0; at < keys.length; at += MAX_TOLD) {
      const tell = this.#told(keys.slice(at, at + MAX_TOLD));
      const { unreached } = await this.options.messages.ask(this.#topic, { tell }, [replica]);
      this.#missed(unreached);
      if (unreached.length > 0) return;
    }
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#again);
  }

  async #tellChanged(): Promise<void> {
    const keys = [...this.#changed];
    this.#changed.clear();
    for (let at = 0; at < keys.length; at += MAX_TOLD) {
      const tell = this.#told(keys.slice(at, at + MAX_TOLD));
      this.#missed((await this.options.messages.ask(this.#topic, { tell })).unreached);
    }
  }

  /** These get all facts once they can be reached. */
  #missed(replicas: readonly string[]): void {
    for (const id of replicas) this.#behind.add(id);
    if (this.#behind.size === 0 || this.#again !== undefined || this.#isClosed) return;
    this.#again = setTimeout(() => {
      this.#again = undefined;
      const behind = this.options.messages.others().filter(({ id }) => this.#behind.has(id));
      this.#behind.clear();
      const told = Promise.all(behind.map((replica) => this.tellAll(replica)));
      inBackground(
        told.then(() => {}),
        this.options.logger,
        "telling a replica what it has missed",
      );
    }, AGAIN_MS);
    this.#again.unref();
  }

  #told(keys: readonly string[]): readonly (readonly [string, number, JsonObject | null, number])[] {
    return keys.flatMap((key) => {
      const fact = this.local(key);
      return fact === undefined ? [] : [[key, fact.version, fact.value ?? null, fact.leftMs] as const];
    });
  }

  #answer({ ask, tell }: JsonObject): JsonObject {
    if (Array.isArray(tell))
      for (const told of tell) {
        const key = Array.isArray(told) ? this.#merge(told) : undefined;
        const fact = key === undefined ? undefined : this.local(key);
        if (key !== undefined && fact !== undefined) this.options.onTold?.(key, fact);
      }
    const [fact] = typeof ask === "string" ? this.#told([ask]) : [];
    return fact === undefined ? {} : { fact: [...fact] };
  }

  /** Takes what another replica knows; the key, if it is newer. Of two of the same version the end holds. */
  #merge(told: readonly unknown[]): string | undefined {
    const [key, version, value, leftMs] = told;
    if (typeof key !== "string" || key.length > MAX_KEY_LENGTH) return undefined;
    if (!Number.isSafeInteger(version) || typeof leftMs !== "number") return undefined;
    const fact = {
      version: version as number,
      until: performance.now() + Math.min(leftMs, this.options.lifeMs),
      ...(isObject(value) && { value }),
    };
    const known = this.#known.get(key);
    const isNewer = known === undefined || fact.version > known.version;
    const isEnd = known?.version === fact.version && fact.value === undefined && known.value !== undefined;
    if (isNewer || isEnd) this.#known.set(key, fact);
    else if (known.version === fact.version && fact.until > known.until)
      this.#known.set(key, { ...known, until: fact.until });
    return isNewer || isEnd ? key : undefined;
  }
}
