/** Logs and counts sign-ins; no token, code or key is logged. */

import type { Logger } from "../../core/logger.js";
import { idOfKey } from "../../core/principal.js";
import { strangerLog } from "../../telemetry/stranger-log.js";
import type { SignInSubject } from "./pending-content.js";
import type { Quirks } from "./types.js";

/** The outcome of a sign-in: a value of the label `outcome`. */
export type SignInOutcome = "started" | "finished" | "refused" | "stepped_up" | "signed_out";

/** The counter of sign-ins; `telemetry` has one. */
export interface SignInCounter {
  /** `principal` is undefined if unknown. */
  signedIn(server: string, outcome: SignInOutcome, principal?: string): void;
  /** A sign-in succeeded at a server whose config allows this deviation. */
  quirkUsed(server: string, quirk: QuirkName): void;
}

/** A quirk as written in the config: a value of the label `quirk`. */
type QuirkName = (typeof QUIRK_NAMES)[keyof Quirks];

const QUIRK_NAMES = {
  issuerSlash: "issuer-slash",
  issuer: "issuer",
  noResource: "no-resource",
  assumeS256: "assume-s256",
  basicRaw: "basic-raw",
  clientName: "client-name",
  redirectHost: "redirect-host",
} as const satisfies { readonly [K in keyof Required<Quirks>]: string };

/** Further members of a log line. */
interface Facts {
  readonly issuer?: string;
  readonly scopes?: string;
  /** The reason of a refusal, as a sentence. */
  readonly reason?: string;
}

const SENTENCES: Readonly<Record<SignInOutcome, string>> = {
  started: "a sign-in was started",
  finished: "signed in",
  refused: "a sign-in was refused",
  stepped_up: "signed in with more scopes",
  signed_out: "signed out",
};

/** Writes the log lines and counts. */
export class SignInEvents {
  /** For events that a client without credentials causes. */
  readonly #strangers: Logger;

  constructor(
    private readonly log: Logger,
    private readonly counter: SignInCounter,
  ) {
    this.#strangers = strangerLog(log);
  }

  /** `subject` is undefined for a refusal without a known subject, which any client can cause. */
  happened(outcome: SignInOutcome, subject: SignInSubject | undefined, facts: Facts = {}): void {
    const principal = subject === undefined ? undefined : idOfKey(subject.principal);
    this.counter.signedIn(subject?.server ?? "none", outcome, principal);
    const level = outcome === "refused" ? "warn" : "info";
    const about = subject === undefined ? {} : { server: subject.server, principal };
    const where = subject === undefined ? "" : ` at ${subject.server}`;
    const why = facts.reason === undefined ? "" : `: ${facts.reason}`;
    const log = subject === undefined ? this.#strangers : this.log;
    log[level]({ ...about, ...facts, outcome }, `${SENTENCES[outcome]}${where}${why}`);
  }

  /** An operator accepted the issuer that `server` names, in place of `before`. */
  issuerAccepted(server: string, issuer: string, before: string | undefined): void {
    const instead = before === undefined ? "" : `; it was ${before}`;
    this.log.warn({ server, issuer }, `the issuer of ${server} was accepted: ${issuer}${instead}`);
  }

  /** A sign-in at `server` succeeded, with the deviations that `quirks` allows. */
  excused(server: string, quirks: Quirks): void {
    for (const [quirk, value] of Object.entries(quirks))
      if (value !== undefined && value !== false)
        this.counter.quirkUsed(server, QUIRK_NAMES[quirk as keyof Quirks]);
  }
}
