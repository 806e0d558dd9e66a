/** The section `audit` of the config. */
import { resolve } from "node:path";
import { z } from "zod";
import { duration } from "../../config/duration-schema.js";
import { sectionOf } from "../../config/section.js";
import { parseDuration, parseSize } from "../../config/units.js";

const size = (sentence: string) =>
  z
    .string()
    .refine((text) => parseSize(text) !== undefined, {
      error: 'must be a size such as "64MB", from 1MB to 1000GB',
    })
    .meta({ description: sentence, pattern: "^\\d+(MB|GB)$|\\$\\{" });

const schema = z.strictObject({
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

/** The settings of the audit log. */
export interface AuditConfig {
  /** Absolute. */
  readonly file: string;
  /** Whether calls are refused while it cannot be written. */
  readonly required: boolean;
  readonly arguments: "digest" | "redacted" | "full";
  /** Absent members: no rotation by age; all files are kept. */
  readonly rotate: { readonly sizeBytes: number; readonly everyMs?: number; readonly keep?: number };
}

declare module "../../config/config.js" {
  interface FeatureSettings {
    readonly audit?: AuditConfig;
  }
}

/** The file is relative to the config. */
export const section = sectionOf({
  path: "audit",
  schema: schema
    .exactOptional()
    .describe(
      "A log of who did what, hash-chained so that `cardea audit verify` finds each change (`docs/audit.md`). A change needs a restart.",
    ),
  change: "restart",
  complete({ file, rotate: { size, every, keep }, ...rest }: z.output<typeof schema>, folder): AuditConfig {
    const everyMs = every === undefined ? undefined : parseDuration(every);
    return {
      ...rest,
      file: resolve(folder, file),
      rotate: {
        sizeBytes: parseSize(size) ?? 0,
        ...(everyMs !== undefined && { everyMs }),
        ...(keep !== undefined && { keep }),
      },
    };
  },
});
