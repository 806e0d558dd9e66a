/** The schema of the section `audit`. */
import { z } from "zod";
import { duration } from "./duration-schema.js";
import { parseSize } from "./units.js";

const size = (sentence: string) =>
  z
    .string()
    .refine((text) => parseSize(text) !== undefined, {
      error: 'must be a size such as "64MB", from 1MB to 1000GB',
    })
    .meta({ description: sentence, pattern: "^\\d+(MB|GB)$|\\$\\{" });

/** The section `audit`. */
export const auditSchema = z.strictObject({
  file: z
    .string()
    .min(1)
    .describe(
      "The file, relative to the config; its folder must exist. Of several workers each writes its own, with its number before the extension.",
    ),
  required: z
    .boolean()
    .default(false)
    .describe(
      "Refuses calls with `audit_unavailable` while the log cannot be written. Without it such a log costs a warning and no call.",
    ),
  arguments: z
    .enum(["digest", "redacted", "full"])
    .default("digest")
    .describe(
      "How the arguments of calls are recorded: as SHA-256; redacted by `policy`; or in full. Known secrets are redacted in any case, and arguments over 64 KiB are recorded as their digest.",
    ),
  rotate: z
    .strictObject({
      size: size("The size at which the file is put aside as `FILE.NUMBER` and a new one begun.").default(
        "64MB",
      ),
      every: duration(
        "The age at which that is done too, with the next line. Default: it is not.",
      ).exactOptional(),
      keep: z
        .int()
        .min(1)
        .max(100_000)
        .exactOptional()
        .describe("How many rotated files are kept; older ones are deleted. Default: all."),
    })
    .prefault({})
    .describe("When the file is rotated. The chain continues over all files."),
});
/** The section as it is written. */
export type AuditShape = z.infer<typeof auditSchema>;
