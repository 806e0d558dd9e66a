/** The shape of one server in the config: what hosts write, and Cardea's own keys. */
import { z } from "zod";
import { checksSchema, overridesSchema } from "./tool-schema.js";
import { MAX_DURATION_MS, parseDuration } from "./units.js";

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

/** `type` as the hosts write it, and what it means. */
export const SERVER_TYPES = {
  stdio: "stdio",
  http: "http",
  "streamable-http": "http",
  streamableHttp: "http",
  streamablehttp: "http",
  sse: "sse",
} as const;

/** A duration such as `30s`; `sentence` describes the key. */
export const duration = (sentence: string) =>
  z
    .string()
    .refine((text) => parseDuration(text) !== undefined, {
      error: `must be a duration such as "250ms", "30s", "5m" or "1h", at most ${Math.floor(MAX_DURATION_MS / 3_600_000)}h`,
    })
    .meta({ description: sentence, pattern: "^\\d+(ms|s|m|h)$|\\$\\{" });

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
      .describe(`Globs (\`*\`, \`?\`, \`{a,b}\`) over ${subject}; what none of them matches is left out.`),
    deny: globs
      .default([])
      .describe(`Globs over ${subject}; what one of them matches is left out, allowed or not.`),
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
      .refine(isHeaderValue, { error: "can hold no other characters than those of Latin-1" }),
  )
  .refine(
    (named) =>
      new Set(Object.keys(named).map((name) => name.toLowerCase())).size === Object.keys(named).length,
    {
      error: "must not have one name twice, in upper and lower case",
    },
  );

const environment = z.record(
  z.string().regex(/^[^=\0]+$/, { error: "is not the name of an environment variable" }),
  z.string().refine((value) => !value.includes("\0"), { error: "cannot hold a NUL character" }),
);

const argument = z
  .string()
  .refine((value) => !value.includes("\0"), { error: "cannot hold a NUL character" });

const root = z.strictObject({
  uri: argument.min(1).describe("The folder, or its `file:` URI."),
  name: z.string().optional().describe("What a person calls it."),
});

const OWN_NAMES = "the server's own names";

/** The zod schema of one server. */
export const serverSchema = z.strictObject({
  type: z
    .enum(Object.keys(SERVER_TYPES) as (keyof typeof SERVER_TYPES)[])
    .optional()
    .describe(
      "How the server is reached: `stdio`, `http` (also written `streamable-http`, `streamableHttp`, `streamablehttp`) or `sse`. Default: `stdio` where there is a `command`, `http` where there is a `url`. With `sse` the transport of 2024-11-05 is tried first.",
    ),
  command: argument.min(1).optional().describe("The program to start. It is never given to a shell."),
  args: z.array(argument).default([]).describe("Its arguments, one by one, as they are."),
  env: environment
    .default({})
    .describe(
      "Environment variables for the program. Beside these it gets `PATH`, `HOME` and the like, and nothing else of the gateway's environment.",
    ),
  envFile: z
    .string()
    .min(1)
    .optional()
    .describe("A file of `NAME=value` lines with more variables for the program; those in `env` win."),
  cwd: argument
    .min(1)
    .optional()
    .describe("The folder to start it in, relative to the config file's. Default: the config file's folder."),
  url: z.string().min(1).optional().describe("The server's address, `http:` or `https:`."),
  serverUrl: z.string().min(1).optional().describe("The same as `url`, as Windsurf writes it."),
  httpUrl: z.string().min(1).optional().describe("The same as `url`, as Gemini CLI writes it."),
  headers: headers.default({}).describe("HTTP headers that go with every request to the server."),
  prefix: z
    .string()
    .regex(/^[^\p{C}]*$/u, { error: "cannot hold control characters" })
    .max(64)
    .optional()
    .describe(
      'What stands before its names. Default: the server\'s key. `""` leaves its names and URIs as they are.',
    ),
  protocol: z
    .enum(["auto", "legacy", "modern", ...REVISIONS])
    .default("auto")
    .describe(
      "The protocol to speak with it: `auto` finds out and serves each host in its own era where the server knows both, `legacy` opens with `initialize`, `modern` sends metadata with each request (2026-07-28), or one revision.",
    ),
  lease: z
    .enum(["auto", "shared", "principal", "session"])
    .default("auto")
    .describe(
      "Who shares a connection to it: everybody (`shared`), the calls of one principal, or those of one session. `auto` gives a host that can be asked questions a connection of its own, and lets the others share one.",
    ),
  required: z
    .boolean()
    .default(false)
    .describe("Whether the gateway counts as not ready while this server is not there."),
  disabled: z.boolean().default(false).describe("Leaves the server out."),
  enabled: z.boolean().default(true).describe("`false` leaves the server out, as Zed writes it."),
  timeout: duration(
    "How long a call may go without a sign of life. Progress starts it anew, up to 1h in all.",
  ).default("5m"),
  connectTimeout: duration("How long starting or reaching the server may take.").default("30s"),
  roots: z
    .array(z.union([argument.min(1), root]))
    .optional()
    .describe(
      "Folders (relative to the config file's) or `file:` URIs that it is told when it asks for roots and no host can be asked. Default: it is told that nobody has any.",
    ),
  tools: z
    .union([nameFilter(OWN_NAMES), globs])
    .default({ allow: ["*"], deny: [] })
    .describe("Which of its tools are shown. A plain list, as Copilot writes it, is the same as `allow`."),
  disabledTools: globs
    .default([])
    .describe("More globs for `tools.deny`, as Windsurf and Cursor write them."),
  prompts: nameFilter(OWN_NAMES)
    .default({ allow: ["*"], deny: [] })
    .describe("Which of its prompts are shown."),
  resources: nameFilter("the server's own URIs and URI templates")
    .default({ allow: ["*"], deny: [] })
    .describe("Which of its resources and resource templates are shown."),
  checks: checksSchema
    .exactOptional()
    .describe("What is looked at in calls of its tools and in their results. Default: nothing."),
  overrides: overridesSchema
    .exactOptional()
    .describe("How single tools are shown and called, by the server's own names for them."),
});

/** One server as the file has it. */
export type ServerShape = z.infer<typeof serverSchema>;
