/** Finds each filter, rule and limit of a running gateway that matches nothing, warns once of it, and keeps it for the page of problems. */
import { formatProblem } from "../config/problem.js";
import type { GoodConfig } from "../config/read.js";
import { GatewayError } from "../core/errors.js";
import { inBackground } from "../core/logger.js";
import { Stop } from "../core/stop.js";
import type { Gateway } from "../gateway/gateway.js";
import type { CommandContext, Log } from "./command-context.js";
import { placed } from "./strict.js";

/** Checks configs one after the other; a sentence that was logged is not logged again. */
export class IneffectiveWarnings {
  readonly #gateway: Pick<Gateway, "ownLists" | "foundIneffective">;
  readonly #shell: CommandContext;
  readonly #log: Log;
  /** The sentences about the config that was checked last. */
  #told: ReadonlySet<string> = new Set();
  #stop = new Stop();

  constructor(gateway: Pick<Gateway, "ownLists" | "foundIneffective">, shell: CommandContext, log: Log) {
    this.#gateway = gateway;
    this.#shell = shell;
    this.#log = log;
  }

  /** Checks the config in effect in the background, once each server has listed or failed. */
  check(loaded: GoodConfig): void {
    this.close();
    this.#stop = new Stop();
    inBackground(this.#check(loaded, this.#stop), this.#log, "looking for settings that match nothing");
  }

  /** Ends the wait for servers. */
  close(): void {
    this.#stop.abort();
  }

  async #check(loaded: GoodConfig, stop: Stop): Promise<void> {
    const listed = await this.#gateway.ownLists(stop.signal).catch((error: unknown) => {
      // A `required` server that cannot be connected ends the gateway with an error of its own.
      if (error instanceof GatewayError) return undefined;
      throw error;
    });
    if (listed === undefined || listed.size === 0 || stop.aborted) return;
    const { ineffectiveSettings } = await import("./ineffective.js");
    const found = await ineffectiveSettings(loaded.config, listed, this.#shell.features);
    if (stop.aborted) return;
    const sentences = placed(found, loaded).map(formatProblem);
    this.#gateway.foundIneffective(sentences);
    // The process that has started this one of several has warned already.
    if (this.#shell.worker !== undefined) return;
    for (const sentence of sentences) if (!this.#told.has(sentence)) this.#log.warn({}, sentence);
    this.#told = new Set(sentences);
  }
}
