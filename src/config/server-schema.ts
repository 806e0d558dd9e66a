/** The shape of one server in the config: what hosts write, and Cardea's own keys. */
import { z } from "zod";
import { type ChannelSection, keysOfChannels } from "./channel-section.js";
import { duration } from "./duration-schema.js";
import { networkSchemas } from "./network-schema.js";
import { channelsOf, inOrder, type Section } from "./section.js";
import { keysOfServers } from "./section-keys.js";
import { argumentsSchema, overridesSchema, ownOverridesSchema } from "./tool-schema.js";

/** A header name (RFC 9110, 5.6.2: token). */
const HEADER_NAME = /^[!#$%&'*+.^_`|~\w-]+$/;

/** Headers that HTTP sets itself, that change the framing, and those of MCP. */
const RESERVED_HEADERS: ReadonlySet<string> = new Set([
  ...["connection", "content-length", "expect", "keep-alive", "proxy-connection"],
  ...["te", "trailer", "transfer-encoding", "upgrade"],
  ...["mcp-session-id", "mcp-protocol-version", "mcp-method", "mcp-name", "last-event-id"],
]);

const isReservedHeader = (name: string): boolean => RESERVED_HEADERS.has(name.toLowerCase());

/** Whether a header can have this value (RFC 9110, 5.5). */
const isHeaderValue = (value: string): boolean => /^[\t\x20-\x7e\x80-\xff]*$/.test(value);

/** Every revision that can be pinned; the wire's own list may not be imported here, a test compares them. */
export const REVISIONS = ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"] as const;

/** `type` as the hosts write it, and what it means. Features add words of their own. */
export const SERVER_TYPES = {
  stdio: "stdio",
  http: "http",
  "streamable-http": "http",
  streamableHttp: "http",
  streamablehttp: "http",
  sse: "sse",
} as const;

/** More braces in a glob nest too deeply for RE2. */
const MAX_BRACES = 100;
const GLOB = z
  .string()
  .min(1)
  .refine((text) => text.split("{").length - 1 <= MAX_BRACES, `has more than ${MAX_BRACES} braces`);

/** A list of globs. */
export const globs = z.array(GLOB);

/** `subject` names what the globs are matched with. */
export const nameFilter = (subject: string) =>
  z.strictObject({
    allow: globs
      .default(["*"])
      .describe(`Globs (\`*\`, \`?\`, \`{a,b}\`) over ${subject}; entries that match none are hidden.`),
    deny: globs
      .default([])
      .describe(`Globs over ${subject}; entries that match one are hidden, also where \`allow\` matches.`),
  });

const headers = z
  .record(
    z
      .string()
      .regex(HEADER_NAME, { error: "is not a header name" })
      .refine((name) => !isReservedHeader(name), { error: "is set by the gateway itself" }),
    z
      .string()
      .refine((value) => !/[\r\n\0]/.test(value), { error: "cannot hold a line break", abort: true })
      .refine(isHeaderValue, { error: "must be Latin-1 characters" }),
  )
  .refine(
    (named) =>
      new Set(Object.keys(named).map((name) => name.toLowerCase())).size === Object.keys(named).length,
    {
      error: "must not have a name twice in different case",
    },
  );

const environment = z.record(
  z.string().regex(/^[^=\0]+$/, { error: "is not the name of an environment variable" }),
  z.string().refine((value) => !value.includes("\0"), { error: "cannot hold a NUL character" }),
);

/** A text without NUL. */
export const argument = z
  .string()
  .refine((value) => !value.includes("\0"), { error: "cannot hold a NUL character" });

const root = z.strictObject({
  uri: argument.min(1).describe("The folder, or its `file:` URI."),
  name: z.string().optional().describe("The display name."),
});

const OWN_NAMES = "the server's own names";

/** Which calls share a connection to a server. */
export const leaseSchema = z.enum(["auto", "shared", "principal", "session"]);

/** `a, b, or c`. */
const orList = (words: readonly string[]): string => `${words.slice(0, -1).join(", ")}, or ${words.at(-1)}`;

/** The keys of the gateway that say how a server is reached. */
const firstKeys = (channels: readonly ChannelSection[]) => ({
  type: z
    .enum([...Object.keys(SERVER_TYPES), ...channels.map(({ type }) => type)])
    .optional()
    .describe(
      `The transport: ${orList([
        "`stdio`",
        "`http` (also written `streamable-http`, `streamableHttp`, `streamablehttp`)",
        "`sse`",
        ...channels.map(({ type, reference }) => `\`${type}\` (${reference.type})`),
      ])}. Default: \`stdio\` where there is a \`command\`, \`http\` where there is a \`url\`. With \`sse\` HTTP+SSE of 2024-11-05 is tried first.`,
    ),
  command: argument.min(1).optional().describe("The program to start, without a shell."),
  args: z.array(argument).default([]).describe("Its arguments, passed unchanged."),
  env: environment
    .default({})
    .describe(
      "Environment variables for the program. Of the gateway's environment it gets only `PATH`, `HOME` and similar basic variables.",
    ),
  envFile: z
    .string()
    .min(1)
    .optional()
    .describe("A file with `NAME=value` lines: more environment variables; `env` takes precedence."),
  cwd: argument
    .min(1)
    .optional()
    .describe(
      "The working directory, relative to the config file's folder, which is the default. `roots`: calls run in a process in the first root of the host that makes them (docs/working-folders.md); a folder of this name is `./roots`.",
    ),
  rootsUnder: z
    .array(argument.min(1))
    .exactOptional()
    .describe(
      'With `cwd: "roots"`: folders in or below which the first root of a host must be. Default: any folder, for hosts that need no authentication; none for others.',
    ),
  url: z
    .string()
    .min(1)
    .optional()
    .describe(
      ["The server's address, `http:` or `https:`.", ...channels.map(({ reference }) => reference.url)].join(
        " ",
      ),
    ),
  serverUrl: z.string().min(1).optional().describe("The same as `url`, as Windsurf writes it."),
  httpUrl: z.string().min(1).optional().describe("The same as `url`, as Gemini CLI writes it."),
  headers: headers.default({}).describe("HTTP headers of every request to the server."),
  ...networkSchemas,
});

/** The keys of the gateway after those of the ways to reach servers. */
const middleKeys = {
  prefix: z
    .string()
    .regex(/^[^\p{C}]*$/u, { error: "cannot hold control characters" })
    .max(64)
    .optional()
    .describe(
      'The prefix of its exposed names. Default: the server\'s key. `""` leaves names and URIs unchanged.',
    ),
  protocol: z
    .enum(["auto", "legacy", "modern", ...REVISIONS])
    .default("auto")
    .describe(
      "The protocol revision: `auto` detects it and serves each host in its own era where the server supports both, `legacy` opens with `initialize`, `modern` sends metadata with each request (2026-07-28), or one revision.",
    ),
  lease: leaseSchema
    .optional()
    .describe(
      "Which calls share a connection: all (`shared`), those of one principal, or those of one session. `auto` gives each host that can be asked questions its own connection from its first call on; the others share one. Default: `lease` of the top level.",
    ),
  start: z
    .enum(["demand", "eager"])
    .optional()
    .describe(
      "When the server is started: with the gateway (`eager`), or when a call or a subscription needs it (`demand`). Default: `demand` for stdio, `eager` for others and where the server is `required`.",
    ),
  idleTimeout: duration(
    "How long a connection, with its process, is kept after its last use, unless a host with a session has used it. Never closed: one with a running call, an open question, task or subscription; the shared one of an `eager` server.",
  ).default("10m"),
  required: z
    .boolean()
    .default(false)
    .describe(
      "Whether the gateway is not ready while this server is not connected; it is started with the gateway.",
    ),
  disabled: z.boolean().default(false).describe("Disables the server."),
  enabled: z.boolean().default(true).describe("`false` disables the server, as Zed writes it."),
  timeout: duration("Idle timeout of a call. Progress restarts it, up to 1h in total.").default("5m"),
  connectTimeout: duration(
    "Timeout for starting or connecting to the server, handshake included. Default: `30s`; `3m` for the first start by `npx`, `bunx`, `pnpm dlx`, `uvx`, `pipx run`, `docker run` and the like, which may fetch the package or image.",
  ).optional(),
  roots: z
    .array(z.union([argument.min(1), root]))
    .optional()
    .describe(
      "Folders (relative to the config file's folder) or `file:` URIs to answer `roots/list` with where no host can be asked. Default: refused.",
    ),
  tools: z
    .union([nameFilter(OWN_NAMES), globs])
    .default({ allow: ["*"], deny: [] })
    .describe("Filter of its tools. A plain list, as Copilot writes it, is the same as `allow`."),
  disabledTools: globs
    .default([])
    .describe("More globs for `tools.deny`, as Windsurf and Cursor write them."),
  prompts: nameFilter(OWN_NAMES)
    .default({ allow: ["*"], deny: [] })
    .describe("Filter of its prompts."),
  resources: nameFilter("the server's own URIs and URI templates")
    .default({ allow: ["*"], deny: [] })
    .describe("Filter of its resources and resource templates."),
};

/** The keys of the gateway after those of features. */
const lastKeys = (
  channels: readonly ChannelSection[],
  overrides: typeof ownOverridesSchema | ReturnType<typeof overridesSchema>,
) => ({
  arguments: argumentsSchema(channels.map(({ reference }) => reference.servers))
    .exactOptional()
    .describe("How arguments of its tools are read."),
  overrides: overrides
    .exactOptional()
    .describe("Names, descriptions and arguments of single tools, by the server's own tool names."),
});

/** The zod schema of one server, without the keys of features. */
export const serverSchema = z.strictObject({
  ...firstKeys([]),
  ...middleKeys,
  ...lastKeys([], ownOverridesSchema),
});

/** The zod schema of one server, with the keys of features. */
export function wholeServerSchema(sections: readonly Section[]): z.ZodType<ServerShape> {
  const channels = channelsOf(sections);
  const keys = {
    ...firstKeys(channels),
    ...keysOfChannels(channels),
    ...middleKeys,
    ...keysOfServers(sections),
    ...lastKeys(channels, overridesSchema(sections)),
  };
  return z.strictObject(inOrder(keys, sections, "server"));
}

/** The keys of the gateway in a server, as the file has them. Those of features are found by `settingsOf`. */
export type ServerShape = z.infer<typeof serverSchema>;
