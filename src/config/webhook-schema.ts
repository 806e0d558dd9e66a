/** The schema of a URL to which the gateway posts messages, and of the secret that signs them. */
import { z } from "zod";

/** Without a fragment or credentials. */
const URL_PATTERN = /^https?:\/\/[^\s/?#@]+(?:[/?][^\s#]*)?$/;
/** At least 16 bytes; Standard Webhooks ask for 24 to 64. */
const SECRET_PATTERN = /^whsec_[A-Za-z0-9+/]{22,}={0,2}$/;

/** The two keys of a webhook; `of` says what is posted. */
export const webhookKeys = (of: string) => ({
  url: z
    .string()
    .regex(URL_PATTERN, { error: 'must be a URL such as "https://collector.example.com/hook"' })
    .meta({ pattern: `${URL_PATTERN.source}|\\$\\{` })
    .describe(`Where ${of} are posted.`),
  secret: z
    .string()
    .regex(SECRET_PATTERN, {
      error: 'must be "whsec_" and a key in base64, such as the output of: openssl rand -base64 32',
    })
    .meta({ pattern: `${SECRET_PATTERN.source}|\\$\\{` })
    .exactOptional()
    .describe(
      "Signs them as [Standard Webhooks](https://www.standardwebhooks.com) say: `whsec_` and a key in base64 (`openssl rand -base64 32`); use a variable. Default: they are not signed.",
    ),
});
