/** The trust of one gateway: its lock, the approvals of its servers, and what it reports. */
import { served } from "../../core/admin-page.js";
import type { OpenFeature, Problem, RunningGateway, SettingsOfFeatures } from "../../core/feature.js";
import { inBackground, type Logger } from "../../core/logger.js";
import type { Steps } from "../../runtime/cooperative-yield.js";
import { type ScanSettings, scanSettings } from "../scan/section.js";
import { APPROVED, PAGE, SERVER_MEMBERS } from "./admin.js";
import { admissionOf, type HoldingScan } from "./admission.js";
import { type LockState, LockWatch } from "./lock/lock-file.js";
import { CountedChanges, CountedFindings, HELD } from "./metrics.js";
import { trustPage } from "./page.js";
import { Reviews, sentenceOf } from "./reviews.js";
import { sentenceOf as findingSentence, Scans } from "./scans.js";
import { effectivePin, type Pin, type TrustSettings } from "./section.js";
import { ServerApprovals } from "./server-approvals.js";

/** What it uses of the process. */
export interface TrustOptions {
  /** The path of the lock. */
  readonly file: string;
  readonly logger: Logger;
  readonly redact: (text: string) => string;
  /** Whether differences are logged: a command reports them by itself. */
  readonly isServing: boolean;
}

/** Opens it; the lock is read before. */
export async function openTrust(options: TrustOptions): Promise<OpenFeature> {
  const { file } = options;
  const trust: { now?: Trust } = {};
  const { watch, state } = await LockWatch.open(file, (next) => trust.now?.lockChanged(next));
  trust.now = new Trust(options, watch, state);
  return featureOf(trust.now);
}

/** How servers are treated by the config that was read last. */
type Pins = ReadonlyMap<string, Pin>;

class Trust {
  readonly options: TrustOptions;
  readonly watch: LockWatch;
  readonly counted = new CountedChanges();
  readonly countedFindings = new CountedFindings();
  readonly #approvals = new Map<string, ServerApprovals>();
  #pins: Pins = new Map();
  /** How the definitions of servers are scanned that are. */
  #scanned: ReadonlyMap<string, ScanSettings> = new Map();
  /** The last lock that could be read. */
  #good: Extract<LockState, { kind: "good" }> | undefined;
  state: LockState;
  reviews: Reviews | undefined;
  scans: Scans | undefined;
  gateway: RunningGateway | undefined;

  constructor(options: TrustOptions, watch: LockWatch, state: LockState) {
    this.options = options;
    this.watch = watch;
    this.state = state;
    this.#take(state);
  }

  attach(gateway: RunningGateway): void {
    const { logger, redact, isServing } = this.options;
    this.gateway = gateway;
    this.scans = new Scans({
      ...{
        gateway,
        counted: this.countedFindings,
        settingsOf: (server: string) => this.#scanned.get(server),
      },
      approvalsOf: (server) => this.approvalsOf(server),
      logger: isServing ? logger : undefined,
    });
    this.reviews = new Reviews({
      ...{ gateway, redact, counted: this.counted, scans: this.scans },
      approvalsOf: (server) => this.approvalsOf(server),
      hasLock: () => this.#good !== undefined,
      pinOf: (server) => this.pinOf(server),
      logger: isServing ? logger : undefined,
    });
  }

  /** Of each server that a config had since the start. */
  approvalsOf(server: string): ServerApprovals {
    let known = this.#approvals.get(server);
    if (known === undefined) {
      known = new ServerApprovals(server);
      known.use(this.#good?.lock.servers.get(server), this.#lack);
      this.#approvals.set(server, known);
    }
    return known;
  }

  /** A config will be in effect. */
  useConfig({ servers, features }: SettingsOfFeatures): void {
    const ofFile = features.trust as TrustSettings | undefined;
    this.#pins = new Map(
      servers.map(({ name, features: own }) => [
        name,
        effectivePin(own.trust as TrustSettings | undefined, ofFile),
      ]),
    );
    this.#scanned = new Map(
      servers.flatMap(({ name, features: own }) => {
        const settings = scanSettings(own, features);
        return settings === undefined ? [] : [[name, settings] as const];
      }),
    );
  }

  /** A server has listed: others are scanned beside it. */
  seen(server: string): void {
    this.reviews?.schedule(server);
    for (const scanned of this.#scanned.keys()) this.reviews?.schedule(scanned);
  }

  /** Undefined where the scan of a server holds nothing. */
  holdingScan(server: string): HoldingScan | undefined {
    const settings = this.#scanned.get(server);
    if (settings?.action !== "hold") return undefined;
    const { minSeverity } = settings;
    return {
      verdict: (kind, item) => this.scans?.verdictOf(minSeverity)(kind, item),
      instructionsVerdict: (text) => this.scans?.instructionsVerdict(server, text, minSeverity),
      prepare: (kind, items) => this.scans?.prepare(server, kind, items) ?? NO_STEPS(),
      prepareAtOnce: (kind, items) => this.scans?.prepareAtOnce(server, kind, items),
    };
  }

  isScanned(server: string): boolean {
    return this.#scanned.has(server);
  }

  pinOf(server: string): Pin {
    return this.#pins.get(server) ?? "off";
  }

  get pins(): Pins {
    return this.#pins;
  }

  get heldCount(): number {
    return [...this.#approvals.values()].reduce((sum, { heldCount }) => sum + heldCount, 0);
  }

  lockChanged(next: LockState): void {
    const { logger, file, isServing } = this.options;
    this.state = next;
    this.#take(next);
    if (isServing && next.kind === "good") logger.info({ file }, "cardea.lock was read");
    this.reviews?.lockChanged();
  }

  /** What was approved stays approved while the file is broken; without the file nothing is. */
  #take(state: LockState): void {
    if (state.kind === "good") this.#good = state;
    else if (state.kind === "absent") this.#good = undefined;
    else if (this.options.isServing)
      this.options.logger.warn({ file: this.options.file }, `cardea.lock cannot be used: ${state.reason}`);
    for (const [server, approvals] of this.#approvals)
      approvals.use(this.#good?.lock.servers.get(server), this.#lack);
  }

  get #lack(): string | undefined {
    if (this.#good !== undefined) return undefined;
    return this.state.kind === "unusable"
      ? "cardea.lock cannot be read, so nothing is approved"
      : "there is no cardea.lock, so nothing is approved";
  }

  /** Of servers that are gone, nothing is kept. */
  forgetServers(): void {
    for (const name of this.#approvals.keys()) {
      if (this.#pins.has(name)) continue;
      this.#approvals.delete(name);
      this.scans?.forget(name);
    }
  }

  problems(): readonly Problem[] {
    const enforced = [...this.#pins].filter(([, pin]) => pin === "enforce");
    return [
      ...this.#problemsOfFile(enforced.length),
      ...this.#problemsOfServers(),
      ...this.#problemsOfScans(),
    ];
  }

  #problemsOfFile(enforced: number): readonly Problem[] {
    const { file } = this.options;
    const { state } = this;
    const blocks = enforced > 0 && this.#good === undefined;
    if (state.kind === "unusable") {
      const kept = this.#good === undefined ? "" : "; what it held before is in effect";
      return [{ text: `${file} cannot be used: ${state.reason}${kept}`, blocks }];
    }
    if (!blocks) return [];
    const text = `trust.pin is "enforce" and there is no ${file}: everything is held; "cardea lock" writes it, to be reviewed`;
    return [{ text, blocks }];
  }

  #problemsOfServers(): readonly Problem[] {
    return [...this.#pins.keys()].flatMap((server): readonly Problem[] => {
      const differences = this.reviews?.differences(server) ?? [];
      const [first, ...rest] = differences;
      if (first === undefined) return [];
      const held = this.approvalsOf(server).heldCount;
      const more = rest.length === 0 ? "" : `, and ${rest.length} more`;
      const state = held === 0 ? "differs from cardea.lock" : `differs from cardea.lock, ${held} held`;
      return [
        {
          text: `${server} ${state}: ${sentenceOf(first)}${more}; "cardea approve ${server}" shows what differs`,
          blocks: false,
        },
      ];
    });
  }

  #problemsOfScans(): readonly Problem[] {
    return [...this.#scanned].flatMap(([server, { action }]): readonly Problem[] => {
      const [first, ...rest] = this.scans?.findings(server) ?? [];
      if (first === undefined) return [];
      const more = rest.length === 0 ? "" : `, and ${rest.length} more`;
      const state = action === "hold" ? "is held in part" : "has text that it should not have";
      const text = `${server} ${state}: ${findingSentence(first)}${more}; "cardea approve ${server}" shows and approves it`;
      return [{ text, blocks: false }];
    });
  }

  close(): void {
    this.watch.close();
    this.scans?.close();
    this.reviews?.close();
    this.#approvals.clear();
  }
}

function* NO_STEPS(): Steps<void> {}

const featureOf = (trust: Trust): OpenFeature => ({
  name: "trust",
  attach: (gateway) => trust.attach(gateway),
  admits({ name }, config) {
    trust.useConfig(config);
    const pin = trust.pinOf(name);
    if (pin === "off" && !trust.isScanned(name)) return undefined;
    return admissionOf({
      ...{ pin, approvals: trust.approvalsOf(name), scan: trust.holdingScan(name) },
      onSeen: () => trust.seen(name),
    });
  },
  approves: (server, kind, item) =>
    trust.pins.has(server) && trust.approvalsOf(server).isApproved(kind, item),
  onEvent({ kind, outcome }) {
    if (kind !== "reload" || outcome !== "ok") return;
    trust.forgetServers();
    trust.reviews?.scheduleAll();
    inBackground(trust.watch.check(), trust.options.logger, "reading cardea.lock");
  },
  serverMembers: {
    ...SERVER_MEMBERS,
    read: async () => (server) => ({
      trust: {
        pin: trust.pinOf(server),
        differences: trust.reviews?.differences(server).length ?? 0,
        held: trust.approvalsOf(server).heldCount,
        findings: trust.scans?.findings(server).length ?? 0,
      },
    }),
  },
  pages: [served(PAGE, (query, signal) => trustPage(trust, query, signal))],
  actions: [
    {
      ...APPROVED,
      async act() {
        await trust.watch.check();
        return { lock: trust.state.kind };
      },
    },
  ],
  readings: [{ gauge: HELD, read: () => trust.heldCount }],
  counterReadings: [trust.counted.reading, trust.countedFindings.reading],
  problems: () => trust.problems(),
  close: async () => trust.close(),
});
