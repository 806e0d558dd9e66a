/** What the scan finds in definitions that the lock has not approved: it is reported, and with `hold` the definition is held. */
import type { RunningGateway } from "../../core/feature.js";
import { LIST_KINDS, LISTS, type ListKind } from "../../core/lists.js";
import type { Logger } from "../../core/logger.js";
import { shortText } from "../../core/short-text.js";
import { runAtOnce, runSteps, type Steps } from "../../runtime/cooperative-yield.js";
import type { JsonObject } from "../../wire/json.js";
import { definitionOf, knownDefinitions } from "../scan/definitions.js";
import { type Definition, type Finding, isAtLeast, type Severity } from "../scan/finding.js";
import { scanEach } from "../scan/scan.js";
import type { ScanSettings } from "../scan/section.js";
import { digestDefinitions } from "./lock/definition.js";
import type { CountedFindings } from "./metrics.js";
import type { ServerApprovals, Verdict } from "./server-approvals.js";

/** What the scans read and notify. */
export interface ScansOptions {
  readonly gateway: RunningGateway;
  readonly approvalsOf: (server: string) => ServerApprovals;
  /** Undefined: the server is not scanned. */
  readonly settingsOf: (server: string) => ScanSettings | undefined;
  readonly counted: CountedFindings;
  /** Undefined: nothing is logged, as a command reports by itself. */
  readonly logger: Logger | undefined;
}

/** Findings that are named in one line of the log. */
const MAX_NAMED = 5;
/** Findings of one server that are reported; a definition has 50 at most. */
const MAX_REPORTED = 1_000;

const NOT_SCANNED = "its text is still being scanned";

/** Findings of one server that count. */
interface Reported {
  readonly findings: readonly Finding[];
  /** The keys of those that were logged since the lock was read. */
  readonly logged: Set<string>;
}

/** The scans of one gateway. */
export class Scans {
  readonly #options: ScansOptions;
  /** An entry never changes; an absent one was not scanned. */
  readonly #found = new WeakMap<JsonObject, readonly Finding[]>();
  readonly #instructions = new Map<
    string,
    { readonly text: string; readonly findings: readonly Finding[] }
  >();
  readonly #reported = new Map<string, Reported>();

  /** False while lists of an earlier run are restored, before there is a pipeline. */
  #isBuilt = false;

  constructor(options: ScansOptions) {
    this.#options = options;
  }

  /** Scans those of `items` that are neither approved nor scanned, in steps. */
  *prepare(server: string, kind: ListKind, items: readonly JsonObject[]): Steps<void> {
    const approvals = this.#options.approvalsOf(server);
    const sought = items.filter((item) => !this.#found.has(item) && !approvals.isApproved(kind, item));
    if (sought.length === 0) return;
    const definitions = sought.map((item) => definitionOf(server, kind, item));
    const known = this.#isBuilt ? knownDefinitions(this.#options.gateway.pipeline()) : [];
    yield* scanEach(definitions, [...known, ...definitions], ({ item }, found) =>
      this.#found.set(item, found),
    );
  }

  /** The same at once, as far as that takes some ms; the rest is scanned by `review`. */
  prepareAtOnce(server: string, kind: ListKind, items: readonly JsonObject[]): void {
    runAtOnce(this.prepare(server, kind, items));
  }

  /** Why an entry that is not approved is held. What was not scanned yet is held, too. */
  verdictOf(least: Severity): Verdict {
    return (_, item) => {
      const findings = this.#found.get(item);
      return findings === undefined ? NOT_SCANNED : clauseOfWorst(findings, least);
    };
  }

  /** Why instructions that are not approved are held; undefined if they are not. */
  instructionsVerdict(server: string, text: string, least: Severity): string | undefined {
    const known = this.#instructions.get(server);
    if (known?.text === text) return clauseOfWorst(known.findings, least);
    const definition = instructionsOf(server, text);
    const scan = scanEach([definition], [definition], (_, findings) =>
      this.#instructions.set(server, { text, findings }),
    );
    runAtOnce(scan);
    const scanned = this.#instructions.get(server);
    return scanned?.text === text ? clauseOfWorst(scanned.findings, least) : NOT_SCANNED;
  }

  /** Scans everything of a server that is not approved, beside what all servers say now, and reports it. */
  async review(server: string): Promise<void> {
    const { gateway, settingsOf, approvalsOf } = this.#options;
    this.#isBuilt = true;
    const settings = settingsOf(server);
    if (settings === undefined) {
      this.forget(server);
      return;
    }
    const approvals = approvalsOf(server);
    await runSteps(this.#digest(server));
    const all = knownDefinitions(gateway.pipeline());
    const open = all.filter((each) => each.server === server && !isApproved(each, approvals));
    const found: Finding[] = [];
    let isOther = false;
    await runSteps(
      scanEach(open, all, (definition, findings) => {
        const counting = findings.filter(({ severity }) => isAtLeast(severity, settings.minSeverity));
        if (found.length < MAX_REPORTED) found.push(...counting);
        if (this.#keep(definition, findings, settings.minSeverity)) isOther = true;
      }),
    );
    this.#report(server, found, settings);
    if (settings.action === "hold" && isOther) approvals.evaluateAnew();
  }

  *#digest(server: string): Steps<void> {
    const { catalog } = this.#options.gateway.pipeline();
    for (const kind of LIST_KINDS)
      for (const list of catalog.ownLists(server, kind)) yield* digestDefinitions(kind, list);
  }

  /** Whether a list may have been made of another verdict. */
  #keep({ server, kind, item }: Definition, findings: readonly Finding[], least: Severity): boolean {
    const verdict = clauseOfWorst(findings, least);
    if (kind === "server") {
      const text = String(item.instructions);
      const before = this.#instructions.get(server);
      this.#instructions.set(server, { text, findings });
      return before?.text !== text || clauseOfWorst(before.findings, least) !== verdict;
    }
    const before = this.#found.get(item);
    this.#found.set(item, findings);
    return before === undefined || clauseOfWorst(before, least) !== verdict;
  }

  #report(server: string, findings: readonly Finding[], { action }: ScanSettings): void {
    const { counted, logger } = this.#options;
    const { findings: before, logged } = this.#reported.get(server) ?? {
      findings: [],
      logged: new Set<string>(),
    };
    this.#reported.set(server, { findings, logged });
    const known = new Set(before.map(keyOf));
    for (const finding of findings) if (!known.has(keyOf(finding))) counted.add(finding);
    const unlogged = findings.filter((each) => !logged.has(keyOf(each)));
    if (unlogged.length === 0 || logged.size >= MAX_REPORTED) return;
    for (const each of unlogged) logged.add(keyOf(each));
    const named = unlogged.slice(0, MAX_NAMED).map(sentenceOf);
    const more = unlogged.length > named.length ? [`and ${unlogged.length - named.length} more`] : [];
    const what = action === "hold" ? "is held for its text" : "has text that it should not have";
    logger?.warn(
      { server, findings: unlogged.length },
      `${server} ${what}: ${[...named, ...more].join("; ")}; "cardea approve ${server}" shows and approves it`,
    );
  }

  /** Those that count, of what the server said last. */
  findings(server: string): readonly Finding[] {
    return this.#reported.get(server)?.findings ?? [];
  }

  /** Another lock holds: what still counts is logged again. */
  lockChanged(): void {
    for (const { logged } of this.#reported.values()) logged.clear();
  }

  forget(server: string): void {
    this.#reported.delete(server);
    this.#instructions.delete(server);
  }

  close(): void {
    this.#reported.clear();
    this.#instructions.clear();
  }
}

const instructionsOf = (server: string, instructions: string): Definition => ({
  ...{ server, kind: "server", name: server },
  item: { instructions },
});

function isApproved({ kind, item }: Definition, approvals: ServerApprovals): boolean {
  return kind === "server"
    ? approvals.lock?.instructions === item.instructions
    : approvals.isApproved(kind, item);
}

const keyOf = ({ kind, name, rule, pointer }: Finding): string => `${kind}\0${name}\0${rule}\0${pointer}`;

/** `it has control characters (hidden-text)`, of the most severe one; undefined if none counts. */
function clauseOfWorst(findings: readonly Finding[], least: Severity): string | undefined {
  let worst: Finding | undefined;
  for (const finding of findings)
    if (
      isAtLeast(finding.severity, least) &&
      (worst === undefined || !isAtLeast(worst.severity, finding.severity))
    )
      worst = finding;
  return worst && clauseOf(worst);
}

const clauseOf = ({ message, rule }: Finding): string => `${message} (${rule})`;

/** `tool search: it has control characters (hidden-text)`. */
export function sentenceOf(finding: Finding): string {
  const { kind, name } = finding;
  const subject = kind === "server" ? "instructions" : `${nounOf(kind)} ${name}`;
  return `${shortText(subject, 120)}: ${clauseOf(finding)}`;
}

const nounOf = (kind: ListKind): string => LISTS[kind].noun;
