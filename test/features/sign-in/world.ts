/** Token sources in a test: a disk, an issuer, a clock, and what was logged and counted. */
import { SILENT } from "../../../src/core/logger.js";
import { Stop } from "../../../src/core/stop.js";
import { type RefreshOutcome, TokenEvents } from "../../../src/features/sign-in/token-events.js";
import { TokenSource } from "../../../src/features/sign-in/token-source.js";
import { Disk, Process } from "./memory-vault.js";
import { RotatingIssuer } from "./rotating-issuer.js";

export const HOUR_MS = 3_600_000;
export const SIGNAL = new Stop();

export class World {
  now = 1_000_000_000_000;
  readonly disk = new Disk();
  readonly issuer = new RotatingIssuer(() => this.now);
  readonly outcomes: RefreshOutcome[] = [];
  readonly lines: { readonly fields: Readonly<Record<string, unknown>>; readonly sentence: string }[] = [];
  readonly changes: boolean[] = [];

  /** A process with a source for "ann" at "linear". */
  start(): { readonly process: Process; readonly source: TokenSource } {
    const process = new Process(this.disk);
    const line = (fields: Readonly<Record<string, unknown>>, sentence: string): void =>
      void this.lines.push({ fields, sentence });
    const source = new TokenSource({
      server: "linear",
      principal: "ann",
      vault: process,
      endpoint: this.issuer.of(process),
      now: () => this.now,
      random: () => 0,
      deadline: () => new AbortController().signal,
      events: new TokenEvents(
        { ...SILENT, info: line, warn: line },
        { tokenRefreshed: (_, outcome) => void this.outcomes.push(outcome) },
      ),
      onTokens: () => {},
      onSignedIn: (isSignedIn) => void this.changes.push(isSignedIn),
    });
    return { process, source };
  }

  /** Puts a sign-in on the disk. */
  signIn(change: Parameters<RotatingIssuer["signIn"]>[0] = {}): void {
    const before = this.disk.get();
    const generation = (before?.generation ?? 0) + 1;
    const signedIn = this.issuer.signIn({ generation, ...change });
    this.disk.records.set(`${signedIn.server}\0${signedIn.principal}`, signedIn);
  }

  pass(ms: number): void {
    this.now += ms;
  }
}

/** A request that was refused with 401. */
export const rejected = (sentHeader: string | undefined, attempts = 1) =>
  ({ status: 401, challenge: undefined, sentHeader, attempts }) as const;
