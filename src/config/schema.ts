/** The shape of the config file: every key with its default and the sentence that documents it. */
import { z } from "zod";
import { adminToken, authSchema } from "./auth-schema.js";
import { limitsSchema, policySchema } from "./policy-schema.js";
import { duration, nameFilter, serverSchema } from "./server-schema.js";

/** The keys under which servers are found, as different hosts write them; all of them are read. */
export const SERVER_KEYS = ["mcpServers", "servers", "context_servers"] as const;

const PORT = /^([1-5]?\d{1,4}|6[0-4]\d{3}|65[0-4]\d\d|655[0-2]\d|6553[0-5])$/;

/** A whole number, or the digits of one, so that a variable can stand there. */
const port = z.union([
  z.int().min(0).max(65_535),
  z
    .string()
    .regex(PORT, { error: "must be a port from 0 to 65535" })
    .meta({ pattern: `${PORT.source}|\\$\\{` }),
]);

const host = z.string().min(1);

/** Paths of the listener's own, where nothing else can be; and one that every client can send as it stands. */
const RESERVED_PATH = /^\/(healthz|readyz|\.well-known)(\/|$)/;
const SSE_PATHS: readonly string[] = ["/sse", "/messages"];
const PATH = /^(?:\/(?!\.{1,2}(?:\/|$))[\w.~-]+)+$/;

/** A `Host` as it stands in a request, of one name or address. */
const HOST = /^(?:\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::\d{1,5})?$/i;
/** An `Origin` as a browser sends it; `null` is that of every sandboxed page and every local file. */
const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/[^\s/?#@*]+\/?$/i;

/** What an editor takes: it sees the text before variables are expanded. */
const orVariable = ({ source }: RegExp) => ({ pattern: `${source}|\\$\\{` });

const http = z
  .strictObject({
    host: host.default("127.0.0.1").describe("The address to listen on."),
    port: port.default(8080).describe("The port to listen on; 0 picks a free one."),
    path: z
      .string()
      .regex(PATH, { error: 'must be a path such as "/mcp", without a slash at its end' })
      .refine((path) => !RESERVED_PATH.test(path), { error: "is a path that the listener has for itself" })
      .meta(orVariable(PATH))
      .default("/mcp")
      .describe("Where MCP is spoken; one server or profile alone is at this path, a slash and its name."),
    allowedHosts: z
      .array(
        z
          .string()
          .regex(HOST, { error: 'must be a name such as "mcp.example.com", with a port or without' })
          .meta(orVariable(HOST)),
      )
      .default([])
      .describe(
        "`Host` names to accept besides the loopback names, which are always accepted on a loopback bind.",
      ),
    allowedOrigins: z
      .array(
        z
          .string()
          .regex(ORIGIN, { error: 'must be an origin such as "https://app.example.com"' })
          .meta(orVariable(ORIGIN)),
      )
      .default([])
      .describe("`Origin` values of web pages to accept besides the loopback ones."),
    maxBodyBytes: z
      .int()
      .min(1_024)
      .max(1_073_741_824)
      .default(4_194_304)
      .describe("The largest request body to take, in bytes."),
    legacySse: z
      .boolean()
      .default(false)
      .describe("Also serves the HTTP+SSE transport of 2024-11-05 at `/sse` and `/messages`."),
    insecure: z
      .boolean()
      .default(false)
      .describe(
        "Lets it listen beyond this machine although there is no `auth`: whoever reaches it may call.",
      ),
  })
  .refine(({ path, legacySse }) => !(legacySse && SSE_PATHS.includes(path)), {
    path: ["path"],
    error: "is a path of the older transport, which legacySse serves",
  });

const admin = z.strictObject({
  host: host.default("127.0.0.1").describe("The address of health checks, metrics and the status API."),
  port: port.default(8081).describe("Its port; 0 picks a free one."),
  token: adminToken
    .exactOptional()
    .describe(
      "Whoever asks for more than health must send it as `Authorization: Bearer …`; put a variable here, or `sha256:` and its hash. Without one it listens on this machine alone.",
    ),
});

const callCount = (least: number) => z.int().min(least).max(1_000_000);

const parkedCalls = z.strictObject({
  total: callCount(0)
    .default(2_000)
    .describe(
      "How many may wait at once. With 0 none may: the host is told that the call needs what it cannot have (-32021).",
    ),
  perPrincipal: callCount(1)
    .default(500)
    .describe(
      "How many of them may be one principal's. Where it has its share of these, of `total` or of `perServer`, its own oldest is given up to make room for its next; nobody else's is. Where nobody says who they are, the next one does not wait: its server is told that too many do.",
    ),
  perServer: callCount(1).default(500).describe("How many of them may be one server's."),
  answerTimeout: duration(
    "How long a call waits for its answers; then it is given up, and its server is told. A host with a session is asked for two thirds of it, so that the server hears what happened.",
  ).default("15m"),
});

const EXPOSED_NAMES = "exposed names";

const profile = z.strictObject({
  servers: z.array(z.string()).optional().describe("The servers it shows, by their keys. Default: all."),
  tools: nameFilter(EXPOSED_NAMES)
    .default({ allow: ["*"], deny: [] })
    .describe("Which of their tools it shows."),
  prompts: nameFilter(EXPOSED_NAMES)
    .default({ allow: ["*"], deny: [] })
    .describe("Which of their prompts it shows."),
  resources: nameFilter("exposed URIs and URI templates")
    .default({ allow: ["*"], deny: [] })
    .describe("Which of their resources and resource templates it shows."),
});

const servers = z.record(z.string().min(1), serverSchema.meta({ id: "server" }));

/** The zod schema of the whole file. */
export const fileSchema = z.strictObject({
  $schema: z.string().optional().describe("The JSON Schema for editors; Cardea itself does not read it."),
  listen: z
    .strictObject({
      http: http.prefault({}).describe("The listener for hosts."),
      admin: admin.prefault({}).describe("The listener for operators."),
    })
    .prefault({})
    .describe("Where hosts and operators reach the gateway. A change needs a restart."),
  auth: authSchema
    .exactOptional()
    .describe("Who may come in over HTTP. Without it everybody is one `anonymous` principal."),
  mcpServers: servers.default({}).describe("The servers behind the gateway, by name."),
  servers: servers.default({}).describe("The same as `mcpServers`, as VS Code writes it."),
  context_servers: servers.default({}).describe("The same as `mcpServers`, as Zed writes it."),
  naming: z
    .strictObject({
      separator: z
        .string()
        .regex(/^[\w-]{1,8}$/, { error: "must be one to eight of the characters A-Z a-z 0-9 _ -" })
        .default("__")
        .describe("What stands between a server's prefix and a name."),
      maxLength: z
        .int()
        .min(24)
        .max(128)
        .default(50)
        .describe(
          "The longest exposed name; a longer one is cut and gets a hash. Models take 64 characters, and hosts put a prefix of their own before a name.",
        ),
    })
    .prefault({})
    .describe("How names of tools and prompts are made one name space."),
  parkedCalls: parkedCalls
    .prefault({})
    .describe(
      "Calls that wait for a person or a model: of servers that ask in the middle of a call, made by hosts that must come back with the answer (2026-07-28).",
    ),
  keys: z
    .strictObject({
      state: z
        .string()
        .min(32, { error: "must have at least 32 characters, from a generator of secrets" })
        .describe(
          "Seals what hosts bring back with their answers and the ids of tasks. Processes that serve the same hosts need the same; without it each start makes its own. A change needs a restart.",
        ),
    })
    .exactOptional()
    .describe("Secrets of the gateway itself; write them as variables."),
  policy: policySchema.exactOptional().describe("Who may do what, in both directions."),
  limits: limitsSchema.exactOptional().describe("Limits; every one that matches applies."),
  profiles: z
    .record(z.string().min(1), profile.meta({ id: "profile" }))
    .default({})
    .describe("Named subsets, each served at `/mcp/NAME`."),
});

/** The zod schema of one profile. */
export const profileSchema = profile;
/** The file as it is written. */
export type FileShape = z.infer<typeof fileSchema>;
