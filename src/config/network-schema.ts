/** The shape of a server's network settings: proxy and TLS. */
import { z } from "zod";

const pem = (sentence: string) => z.string().min(1).optional().describe(sentence);

/** The keys of one server. */
export const networkSchemas = {
  proxy: z
    .string()
    .optional()
    .describe(
      'The HTTP proxy for its requests and those of its sign-in, such as `http://proxy.corp:3128`, or `"none"`. Default: `HTTPS_PROXY` or `HTTP_PROXY` of the environment, unless `NO_PROXY` names the host; never for loopback.',
    ),
  tls: z
    .strictObject({
      ca: pem(
        "The certificates of the authorities that may have signed its certificate, instead of those that Node trusts. PEM, often by a `file:` variable.",
      ),
      cert: pem("The client certificate with its chain, as PEM; with `key`."),
      key: pem("The private key of `cert`, as PEM without a passphrase."),
      serverName: z
        .string()
        .regex(/^[\w.-]+$/, { error: "is not a host name" })
        .optional()
        .describe("The name that its certificate must have. Default: the host of its URL."),
    })
    .exactOptional()
    .describe("TLS of its own requests, not of those to other origins."),
} as const;
