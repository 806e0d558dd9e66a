/** The section `audit` of the config. */
import { resolve } from "node:path";
import { z } from "zod";
import { duration } from "../../config/duration-schema.js";
import { sectionOf } from "../../config/section.js";
import { parseDuration, parseSize } from "../../config/units.js";
import { webhookKeys } from "../../config/webhook-schema.js";
import type { WebhookTarget } from "../../outgoing/webhook.js";

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
  key: z
    .string()
    .min(16, { error: "must have at least 16 characters" })
    .exactOptional()
    .describe(
      "The key of the chain: whoever can write the file cannot rewrite it without this key. Use a variable; `cardea audit verify` needs it too. Default: the chain has none.",
    ),
  sink: z
    .strictObject(webhookKeys("batches of lines"))
    .exactOptional()
    .describe(
      "Where the lines are posted as well, in batches, in their order, until each is accepted. The file is the queue: no line is dropped, and files with lines that are not accepted yet are not deleted.",
    ),
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
  /** The key of the chain; undefined without one. */
  readonly key: string | undefined;
  /** Where lines are posted; undefined if they are not. */
  readonly sink: WebhookTarget | undefined;
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
  secretsOf: ({ key, sink }: AuditConfig) => [key ?? [], sink?.secret ?? []].flat(),
  filesOf: ({ file }: AuditConfig) => [file],
  warningsOf: ({ features: { audit } }) =>
    audit?.sink === undefined || audit.sink.secret !== undefined
      ? []
      : [
          {
            path: ["audit", "sink"],
            message:
              "it has no secret: its receiver cannot tell the lines of this gateway from those of others",
          },
        ],
  complete(
    { file, rotate: { size, every, keep }, key, sink, ...rest }: z.output<typeof schema>,
    folder,
  ): AuditConfig {
    const everyMs = every === undefined ? undefined : parseDuration(every);
    return {
      ...rest,
      ...{ key, sink },
      file: resolve(folder, file),
      rotate: {
        sizeBytes: parseSize(size) ?? 0,
        ...(everyMs !== undefined && { everyMs }),
        ...(keep !== undefined && { keep }),
      },
    };
  },
});
