/** Another way to serve hosts than one gateway in one process: what a feature says of it, and how commands ask for it. */
import type { Config, ListenConfig } from "../config/config.js";
import type { Logger } from "../core/logger.js";
import type { ProcessMember } from "../core/process-member.js";
import type { Gateway } from "../gateway/gateway.js";
import type { Signals } from "./command-context.js";
import type { Advised, Feature } from "./feature.js";
import type { ServeFlagValues } from "./serve-flags.js";

/** The way of a feature. */
export interface ServingMode {
  /** What flags or variables ask for; undefined for one gateway in one process. @throws UsageError */
  asked(flags: ServeFlagValues, env: Readonly<Record<string, string | undefined>>): ServingRun | undefined;
  /** This process, where it was started as one of several; undefined in any other process. */
  join(): Promise<JoinedProcess | undefined>;
}

/** What is asked for. */
export interface ServingRun {
  /** How many processes serve. */
  readonly processes: number;
  open(config: Config, context: ServingContext): Promise<Served>;
}

/** What a way of serving may use of the program. */
export interface ServingContext {
  readonly logger: Logger;
  /** The gateway's own. */
  readonly version: string;
  /** The features of this build. */
  readonly features: readonly Feature[];
  /** Lets commands of the same user use the listener for operators. */
  readonly ownerToken: string;
  /** Handles the server processes that an ended process of the gateway left behind. */
  readonly onProcessLost: () => Promise<void>;
}

/** Several processes as the command line sees them: one gateway. Each of them watches the config file itself. */
export interface Served extends Pick<Gateway, "start" | "stop" | "failed" | "hasCutOff"> {
  /** Makes each process reload its config. */
  reload(): void;
}

/** This process as one of several. */
export interface JoinedProcess {
  readonly member: ProcessMember;
  /** The addresses of all of them, even if the config file has changed. */
  readonly listen: ListenConfig;
  /** The same in sections of features, by their paths. */
  readonly sections: Readonly<Record<string, unknown>>;
  /** Reports to the process that has started it that it serves `url`. */
  announce(url: string): void;
  /** Messages of that process as signals: SIGTERM for stop, SIGHUP for reload. */
  readonly signals: Signals;
}

/** The way of the first feature that has one. */
export const servingModeOf = (features: readonly Feature[]): ServingMode | undefined =>
  features.find(({ servingMode }) => servingMode !== undefined)?.servingMode;

/** Why several processes cannot serve the config; undefined if they can. */
export function servingConflict(features: readonly Feature[], config: Config): Advised | undefined {
  if (features.some((feature) => feature.sharesLimits?.(config) === true)) return undefined;
  for (const feature of features) {
    const reason = feature.singleProcess?.(config);
    if (reason !== undefined) return reason;
  }
  return undefined;
}
