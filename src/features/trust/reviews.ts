/** Compares what servers say now with their lock, after their lists or the lock have changed, and reports what differs. */
import type { RunningGateway } from "../../core/feature.js";
import { LIST_KINDS } from "../../core/lists.js";
import { inBackground, type Logger, SILENT } from "../../core/logger.js";
import { shortText } from "../../core/short-text.js";
import type { Pipeline } from "../../gateway/pipeline.js";
import { cooperativeYield, runSteps } from "../../runtime/cooperative-yield.js";
import { isSame } from "../../wire/json.js";
import { currentServer, startLines } from "./current-servers.js";
import { digestDefinitions, nameOf } from "./lock/definition.js";
import { clauseOf } from "./lock/describe-difference.js";
import { type Difference, differencesOf, subjectOf } from "./lock/differences.js";
import type { ServerLock } from "./lock/lock.js";
import type { CountedChanges } from "./metrics.js";
import type { Scans } from "./scans.js";
import type { Pin } from "./section.js";
import type { ServerApprovals } from "./server-approvals.js";

/** What a review reads and notifies. */
export interface ReviewsOptions {
  readonly gateway: RunningGateway;
  readonly approvalsOf: (server: string) => ServerApprovals;
  /** Whether there is a lock that can be read. */
  readonly hasLock: () => boolean;
  readonly pinOf: (server: string) => Pin;
  readonly counted: CountedChanges;
  /** Undefined: nothing is logged, as a command reports by itself. */
  readonly logger: Logger | undefined;
  readonly redact: (text: string) => string;
  readonly scans: Scans;
}

/** What was found at one server. */
interface Reviewed {
  readonly differences: readonly Difference[];
  /** The keys of differences that were logged since the lock was read. */
  readonly logged: Set<string>;
}

/** Differences that are named in one line of the log. */
const MAX_NAMED = 10;
/** Keys of one server that are known as logged; beyond, further differences are counted only. */
const MAX_LOGGED = 10_000;

/** Of a server without a section in the lock. */
const NOTHING: ServerLock = {
  start: {},
  lists: { tools: [], prompts: [], resources: [], resourceTemplates: [] },
};

/** The reviews of all servers of one gateway. */
export class Reviews {
  readonly #options: ReviewsOptions;
  readonly #found = new Map<string, Reviewed>();
  readonly #due = new Set<string>();
  #isRunning = false;
  #isClosed = false;

  constructor(options: ReviewsOptions) {
    this.#options = options;
  }

  /** Reviews a server in a later turn; several requests are one. */
  schedule(server: string): void {
    if (this.#isClosed) return;
    this.#due.add(server);
    if (this.#isRunning) return;
    this.#isRunning = true;
    inBackground(this.#run(), this.#options.logger ?? SILENT, "comparing definitions with cardea.lock");
  }

  /** Another lock holds: what differs from it is logged again. */
  lockChanged(): void {
    for (const { logged } of this.#found.values()) logged.clear();
    this.#options.scans.lockChanged();
    this.scheduleAll();
  }

  /** Reviews all servers of the config in effect. */
  scheduleAll(): void {
    const { servers } = this.#options.gateway.pipeline();
    for (const name of this.#found.keys()) if (!servers.has(name)) this.#found.delete(name);
    for (const name of servers.keys()) this.schedule(name);
  }

  differences(server: string): readonly Difference[] {
    return this.#found.get(server)?.differences ?? [];
  }

  close(): void {
    this.#isClosed = true;
    this.#due.clear();
    this.#found.clear();
  }

  async #run(): Promise<void> {
    try {
      // The lists that have just been loaded are in the catalog by then.
      await cooperativeYield();
      for (const server of this.#due) {
        this.#due.delete(server);
        await this.#review(server);
        if (this.#isClosed) return;
        await this.#options.scans.review(server);
        if (this.#isClosed) return;
      }
    } finally {
      this.#isRunning = false;
    }
  }

  async #review(server: string): Promise<void> {
    const { gateway, approvalsOf, hasLock, pinOf, redact } = this.#options;
    const isCompared = hasLock() && pinOf(server) !== "off";
    const pipeline = gateway.pipeline();
    if (!isCompared) {
      this.#found.delete(server);
      approvalsOf(server).keepHeld(entriesOf(pipeline, server));
      return;
    }
    const start = (await startLines(gateway, redact)).get(server);
    const before = currentServer(pipeline, server, start);
    if (before === undefined) return;
    for (const kind of LIST_KINDS) await runSteps(digestDefinitions(kind, before.lists[kind] ?? []));
    // Lists may have been loaded meanwhile: what they hold must not be released by those before them.
    const current = currentServer(gateway.pipeline(), server, start) ?? before;
    const approvals = approvalsOf(server);
    const { lock } = approvals;
    const differences = differencesOf(lock ?? { ...NOTHING, start: current.start ?? {} }, current);
    if (this.#isClosed) return;
    approvals.keepHeld(differences);
    this.#report(server, differences, lock !== undefined);
  }

  #report(server: string, differences: readonly Difference[], isInLock: boolean): void {
    const { counted, logger } = this.#options;
    const before = this.#found.get(server) ?? { differences: [], logged: new Set<string>() };
    const { logged } = before;
    this.#found.set(server, { differences, logged });
    const known = new Map(before.differences.map((each) => [keyOf(each), each]));
    for (const each of differences)
      if (!isSame(known.get(keyOf(each))?.now, each.now)) counted.add(server, each);
    const unlogged = differences.filter((each) => !logged.has(keyOf(each)));
    if (unlogged.length === 0 || logger === undefined || logged.size >= MAX_LOGGED) return;
    for (const each of unlogged.slice(0, MAX_LOGGED - logged.size)) logged.add(keyOf(each));
    const named = unlogged.slice(0, MAX_NAMED).map(sentenceOf);
    const rest = unlogged.length - named.length;
    const what = isInLock
      ? `differs from cardea.lock in ${unlogged.length === 1 ? "1 definition" : `${unlogged.length} definitions`}`
      : "is not in cardea.lock";
    const more = rest > 0 ? [`and ${rest} more`] : [];
    const words = `${server} ${what}: ${[...named, ...more].join("; ")}`;
    logger.warn(
      { server, differences: unlogged.length },
      `${words}; "cardea lock --check" shows them, "cardea approve ${server}" approves them`,
    );
  }
}

/** All that the server lists now. */
const entriesOf = ({ catalog }: Pipeline, server: string): readonly Pick<Difference, "kind" | "name">[] =>
  LIST_KINDS.flatMap((kind) =>
    catalog
      .ownLists(server, kind)
      .flatMap((list) => list.map((item) => ({ kind, name: nameOf(kind, item) }))),
  );

const keyOf = ({ kind, name, change }: Difference): string => `${kind}\0${name}\0${change}`;

/** `tool search: its description has changed`. */
export const sentenceOf = (difference: Difference): string =>
  `${shortText(subjectOf(difference), 120)}: ${clauseOf(difference)}`;
