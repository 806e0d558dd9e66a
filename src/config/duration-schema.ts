/** The schema of durations in the config file. */
import { z } from "zod";
import { MAX_DURATION_MS, parseDuration, parseWait } from "./units.js";

/** A duration such as `30s`; `sentence` describes the key. */
export const duration = (sentence: string) =>
  z
    .string()
    .refine((text) => parseDuration(text) !== undefined, {
      error: `must be a duration such as "250ms", "30s", "5m" or "1h", at most ${Math.floor(MAX_DURATION_MS / 3_600_000)}h`,
    })
    .meta({ description: sentence, pattern: "^\\d+(ms|s|m|h)$|\\$\\{" });

/** The same, with zero allowed. */
export const wait = (sentence: string) =>
  z
    .string()
    .refine((text) => parseWait(text) !== undefined, {
      error: `must be a duration such as "250ms", "10s", "1m" or "0s", at most ${Math.floor(MAX_DURATION_MS / 3_600_000)}h`,
    })
    .meta({ description: sentence, pattern: "^\\d+(ms|s|m|h)$|\\$\\{" });
