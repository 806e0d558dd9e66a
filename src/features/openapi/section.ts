/** The keys of a server with `type: openapi`, and what its entry means. */
import { createHash } from "node:crypto";
import { z } from "zod";
import { type ChannelContext, channelOf } from "../../config/channel-section.js";
import { checkedUrl, completeRequests } from "../../config/complete-requests.js";
import { absolutePath } from "../../config/home-folder.js";
import { ServerConfigError } from "../../config/server-config-error.js";
import { argument, globs, type ServerShape } from "../../config/server-schema.js";
import { readErrorMessage } from "../../config/text-file.js";
import { type OpenApiTransport, TYPE } from "./transport.js";

/** HTTP methods that an OpenAPI document can describe (3.1.1, "Path Item Object"). */
const HTTP_METHODS = ["get", "put", "post", "delete", "options", "head", "patch"] as const;

/** `sentence` describes the key. */
const operationFilter = (sentence: string) =>
  z
    .strictObject({
      tags: globs.optional().describe("Globs over the operation's tags."),
      paths: globs
        .optional()
        .describe("Globs over its path, as the document writes it. `*` matches slashes too: `/pets*`."),
      methods: z
        .array(z.enum(HTTP_METHODS))
        .optional()
        .describe("Its HTTP method, in lower case: `get`, `delete` …"),
    })
    .exactOptional()
    .describe(sentence);

const keys = {
  spec: argument
    .min(1)
    .optional()
    .describe(
      "With `type: openapi`: the OpenAPI document as a file (JSON or YAML), instead of `url`; relative to the config file's folder.",
    ),
  baseUrl: z
    .string()
    .min(1)
    .optional()
    .describe(
      "With `type: openapi`: the base URL of the API. Default: the document's first server. Its query is added to every request.",
    ),
  include: operationFilter(
    "With `type: openapi`: the operations that become tools: those that all lists match. Default: all.",
  ),
  exclude: operationFilter(
    "With `type: openapi`: operations that are left out: those that one of the lists matches, included or not.",
  ),
};

export const section = channelOf({
  type: "openapi",
  keys,
  placeKeys: ["spec", "baseUrl"],
  reference: {
    type: "an HTTP API with an OpenAPI 3 document",
    url: "With `type: openapi` that of the document.",
    servers: "HTTP APIs (OpenAPI)",
  },
  // The gateway itself implements MCP, so there are neither revisions nor sessions.
  fixed: { protocol: "modern", lease: "shared" },
  complete,
  withConfigFiles: (transport, configFiles) =>
    "url" in transport.document
      ? transport
      : { ...transport, document: { ...transport.document, configFiles } },
  urlsOf: ({ document, baseUrl }) => ({
    ...("url" in document && { url: document.url }),
    ...(baseUrl !== undefined && { baseUrl }),
  }),
});

/** As much as the server of the document reads (bytes). */
const MAX_DOCUMENT_BYTES = 67_108_864;

function complete(
  shape: ServerShape & z.output<z.ZodObject<typeof keys>>,
  { urlKey, folder, readFile, readDocument = readFile, hasPrincipals }: ChannelContext,
): OpenApiTransport {
  const { command, spec, baseUrl, headers, include, exclude } = shape;
  if (command !== undefined)
    throw new ServerConfigError('has "command", which an openapi server has not', "command");
  const url = urlKey === undefined ? undefined : shape[urlKey];
  if (urlKey !== undefined && spec !== undefined)
    throw new ServerConfigError(`has both "${urlKey}" and "spec"; the document has one place`, "spec");
  const others = {
    ...(baseUrl !== undefined && { baseUrl: checkedUrl(baseUrl, "baseUrl") }),
    headers,
    ...completeRequests(shape, baseUrl ?? url, hasPrincipals),
    ...(include !== undefined && { include }),
    ...(exclude !== undefined && { exclude }),
  };
  if (urlKey !== undefined && url !== undefined)
    return { kind: TYPE, document: { url: checkedUrl(url, urlKey) }, ...others };
  if (spec === undefined)
    throw new ServerConfigError('needs the OpenAPI document: its "url", or "spec" where it is a file');
  const file = absolutePath(spec, folder);
  let content: string;
  try {
    content = readDocument(file, MAX_DOCUMENT_BYTES);
  } catch (error) {
    throw new ServerConfigError(`names a "spec" that cannot be read: ${readErrorMessage(error)}`, "spec");
  }
  const digest = createHash("sha256").update(content).digest("hex");
  return { kind: TYPE, document: { file, digest }, ...others };
}
