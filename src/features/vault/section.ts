/** The section `credentials` of the config: the keys that encrypt what is kept. */
import { resolve } from "node:path";
import { z } from "zod";
import { SectionError, sectionOf } from "../../config/section.js";

/** The bytes of a key (base64 or base64url, 32 bytes). */
const KEY = /^[A-Za-z0-9+/_-]{43}=?$/;
const key = z
  .string()
  .regex(KEY, { error: 'must be 32 bytes in base64, as "openssl rand -base64 32" prints them' })
  .meta({ pattern: `${KEY.source}|\\$\\{` });

const schema = z.strictObject({
  key: z
    .union([key, z.array(key).min(1)])
    .exactOptional()
    .describe(
      "The key that encrypts them: 32 bytes in base64; use a variable. Of several the first one encrypts, all decrypt (`cardea vault rotate`). With `cluster.store` the sign-ins are stored there, for all replicas that have the key.",
    ),
  keyFile: z
    .string()
    .min(1)
    .exactOptional()
    .describe(
      "A file with such keys, one a line, relative to the config file's folder, that only its owner can read; with `cluster.store` as for `key`. Default: one in the state directory, made at first use.",
    ),
});

/** The keys (32 bytes in base64) that encrypt credentials: the first one encrypts, all decrypt. One of both is there. */
export interface CredentialsConfig {
  readonly keys?: readonly string[];
  /** Absolute. */
  readonly keyFile?: string;
}

declare module "../../config/config.js" {
  interface FeatureSettings {
    /** Absent if the key is the one in the state directory. */
    readonly credentials?: CredentialsConfig;
  }
}

/** The key file is relative to the config. */
export const section = sectionOf({
  path: "credentials",
  after: "keys",
  schema: schema.exactOptional().describe("The encryption of stored sign-ins. A change needs a restart."),
  change: "restart",
  secretsOf: (settings: CredentialsConfig | undefined) => settings?.keys ?? [],
  filesOf: (settings: CredentialsConfig | undefined) =>
    settings?.keyFile === undefined ? [] : [settings.keyFile],
  complete({ key, keyFile }: z.output<typeof schema>, folder): CredentialsConfig | undefined {
    if (key !== undefined && keyFile !== undefined)
      throw new SectionError(
        'credentials has both "key" and "keyFile"; it can have one',
        "credentials",
        "keyFile",
      );
    if (key !== undefined) return { keys: typeof key === "string" ? [key] : key };
    return keyFile === undefined ? undefined : { keyFile: resolve(folder, keyFile) };
  },
});
