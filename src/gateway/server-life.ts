/** The process history of one server for operators: restarts, last start and stderr. */
import type { AnswerMisfit, Upstream, UpstreamObserver } from "../core/upstream.js";

/** The number of retained stderr lines, and the characters of each. */
const MAX_LINES = 50;
const MAX_LINE_LENGTH = 500;

/** The number of tools whose misfits are retained. */
const MAX_TOOLS = 50;
const MAX_REASON_LENGTH = 300;

/** Answers of one tool that did not fit its output schema. */
export interface ToolMisfits extends AnswerMisfit {
  /** Since the gateway started; `reason` is of the last one. */
  readonly count: number;
}

/** A server that cannot be reached. */
export interface Outage {
  /** When its connection was lost, or the first attempt failed, in ms since 1970. */
  readonly since: number;
  /** Losses and failed attempts since then. */
  readonly failures: number;
  /** The last one, as a sentence. */
  readonly reason: string;
}

/** Records events of one server while the process runs. */
export class ServerLife {
  /** Reconnections. */
  restarts = 0;
  /** When its last connection was opened, in ms since 1970; undefined before the first. */
  startedAt: number | undefined;
  readonly #lines: string[] = [];
  readonly #times: number[] = [];
  readonly #misfits = new Map<string, ToolMisfits>();

  /** The last lines of its stderr, oldest first; always empty for a server that is not a process. */
  get stderr(): readonly string[] {
    return this.#lines;
  }

  /** When each of these lines was written, in ms since 1970. */
  get stderrAt(): readonly number[] {
    return this.#times;
  }

  /** Tools of an HTTP API whose answers did not fit their output schemas. */
  get misfits(): readonly ToolMisfits[] {
    return [...this.#misfits.values()];
  }

  /** Lasts until a connection is open again, whatever states the server passes until then. */
  outage: Outage | undefined;
  /** When this entry of the config began, in ms since 1970. */
  readonly configuredAt: number;
  readonly #now: () => number;

  /** `now`: ms since 1970. */
  constructor(now: () => number = () => Date.now()) {
    this.#now = now;
    this.configuredAt = now();
  }

  /** What is recorded of the events of `upstream`. */
  observer(upstream: Pick<Upstream, "state">): UpstreamObserver {
    return {
      ready: () => {
        this.startedAt = this.#now();
        this.outage = undefined;
      },
      unavailable: ({ message }) => {
        // An operator's restart, and a missing sign-in, are no failures.
        if (upstream.state !== "backoff") return;
        const { since, failures } = this.outage ?? { since: this.#now(), failures: 0 };
        this.outage = { since, failures: failures + 1, reason: message };
      },
    };
  }

  restarted(): void {
    this.restarts += 1;
  }

  answeredUnfit({ tool, reason }: AnswerMisfit): void {
    const known = this.#misfits.get(tool);
    if (known === undefined && this.#misfits.size >= MAX_TOOLS) return;
    this.#misfits.set(tool, {
      tool,
      reason: reason.slice(0, MAX_REASON_LENGTH),
      count: (known?.count ?? 0) + 1,
    });
  }

  /** `line`: redacted. */
  wrote(line: string): void {
    this.#lines.push(line.slice(0, MAX_LINE_LENGTH));
    this.#times.push(Date.now());
    if (this.#lines.length <= MAX_LINES) return;
    this.#lines.shift();
    this.#times.shift();
  }
}
