/** The schema of the section `telemetry`. Where traces go is said in a key of its feature. */
import { z } from "zod";
import type { Section } from "./section.js";
import { keysWithin } from "./section-keys.js";

/** With the keys of features before those of the gateway. */
export const telemetrySchema = (sections: readonly Section[]) =>
  z.strictObject({
    ...keysWithin(sections, "telemetry"),
    baggage: z
      .enum(["drop", "forward"])
      .default("drop")
      .describe(
        "Whether `baggage` in the `_meta` of hosts' requests is forwarded to servers: it may contain personal data.",
      ),
  });
