/** The process history of one server for operators: restarts, last start and stderr. */
import type { AnswerMisfit, UpstreamObserver } from "../core/upstream.js";

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

/** Records events of one server while the process runs. */
export class ServerLife {
  /** Reconnections. */
  restarts = 0;
  /** When its last connection was opened, in ms since 1970; undefined before the first. */
  startedAt: number | undefined;
  readonly #lines: string[] = [];
  readonly #misfits = new Map<string, ToolMisfits>();

  /** The last lines of its stderr, oldest first; always empty for a server that is not a process. */
  get stderr(): readonly string[] {
    return this.#lines;
  }

  /** Tools of an HTTP API whose answers did not fit their output schemas. */
  get misfits(): readonly ToolMisfits[] {
    return [...this.#misfits.values()];
  }

  readonly observer: UpstreamObserver = {
    ready: () => {
      this.startedAt = Date.now();
    },
  };

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
    if (this.#lines.length > MAX_LINES) this.#lines.shift();
  }
}
