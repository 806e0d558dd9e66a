/** The shape of what concerns the requests to a server: proxy, TLS, headers of hosts. */
import { z } from "zod";

/** RFC 9110, 5.6.2: token. */
const headerName = z.string().regex(/^[!#$%&'*+.^_`|~\w-]{1,100}$/, { error: "is not a header name" });

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
  forwardHeaders: z
    .array(
      z.union([
        headerName,
        z.strictObject({
          from: headerName.describe("Its name in the request of the host."),
          to: headerName.optional().describe("Its name at the server. Default: the same."),
        }),
      ]),
    )
    .max(32)
    .optional()
    .describe(
      'Headers of hosts over HTTP that the server gets, such as `["x-tenant", { "from": "x-user-key", "to": "x-api-key" }]`. Hosts with other values get lists, answers and connections of their own.',
    ),
} as const;
