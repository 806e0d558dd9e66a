/** The schema of the config file: every key with its default and documentation. */

import { z } from "zod";
import { addressRanges } from "../http/address-ranges.js";
import { address, authSchema } from "./auth-schema.js";
import { duration, wait } from "./duration-schema.js";
import { inOrder, type Section } from "./section.js";
import { keysWithin } from "./section-keys.js";
import { leaseSchema, nameFilter, wholeServerSchema } from "./server-schema.js";
import { telemetrySchema } from "./telemetry-schema.js";
import { parseDuration } from "./units.js";

const PORT = /^([1-5]?\d{1,4}|6[0-4]\d{3}|65[0-4]\d\d|655[0-2]\d|6553[0-5])$/;

/** A whole number, or the digits of one, so that a variable can stand there. */
export const port = z.union([
  z.int().min(0).max(65_535),
  z
    .string()
    .regex(PORT, { error: "must be a port from 0 to 65535" })
    .meta({ pattern: `${PORT.source}|\\$\\{` }),
]);

/** The address of a listener. */
export const host = z.string().min(1);

/** Paths of the listener's own, where nothing else can be; and one that every client can send as it stands. */
/** What a server card may say beside the address. */
const serverCard = z.strictObject({
  name: z
    .string()
    .max(200)
    .regex(/^[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]+$/, {
      error: 'must be in reverse-DNS form, such as "com.example/tools"',
    })
    .exactOptional()
    .describe("Its name in reverse-DNS form. Default: the host of the address, reversed, and `/cardea`."),
  title: z.string().min(1).max(100).exactOptional().describe("A name for people. Default: `Cardea`."),
  description: z
    .string()
    .min(1)
    .max(100)
    .exactOptional()
    .describe("What it is for, in at most 100 characters."),
  websiteUrl: z
    .string()
    .regex(/^https?:\/\/[^\s]+$/, { error: "must be an http: or https: URL" })
    .exactOptional()
    .describe("A page for people."),
});
const RESERVED_PATH = /^\/(healthz|readyz|\.well-known)(\/|$)/;
const SSE_PATHS: readonly string[] = ["/sse", "/messages"];
const PATH = /^(?:\/(?!\.{1,2}(?:\/|$))[\w.~-]+)+$/;

/** A `Host` as it stands in a request, of one name or address. */
const HOST = /^(?:\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::\d{1,5})?$/i;
/** An `Origin` as a browser sends it; `null` is that of every sandboxed page and every local file. */
const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/[^\s/?#@*]+\/?$/i;

/** The address of a registry. */
const REGISTRY = /^https?:\/\/[^\s/?#@]+(?:\/[^\s?#]*)?$/;

/** A person signs in there, so it is https, or this machine. */
const publicAddress = address.refine((text) => !/[?#]/.test(text), { error: "cannot have a query" });

/** The value for editors, which see the text before variables are expanded. */
const orVariable = ({ source }: RegExp) => ({ pattern: `${source}|\\$\\{` });

const trustedProxy = z.string().superRefine((text, context) => {
  const ranges = addressRanges(text);
  if (typeof ranges === "string") context.addIssue({ code: "custom", message: ranges });
});

const http = z
  .strictObject({
    host: host.default("127.0.0.1").describe("The address to listen on."),
    port: port.default(8080).describe("The port to listen on; 0 picks a free one."),
    path: z
      .string()
      .regex(PATH, { error: 'must be a path such as "/mcp", without a slash at its end' })
      .refine((path) => !RESERVED_PATH.test(path), { error: "is a reserved path of the listener" })
      .meta(orVariable(PATH))
      .default("/mcp")
      .describe("The path of the MCP endpoint. One server or profile is at this path followed by `/NAME`."),
    allowedHosts: z
      .array(
        z
          .string()
          .regex(HOST, { error: 'must be a name such as "mcp.example.com", with a port or without' })
          .meta(orVariable(HOST)),
      )
      .default([])
      .describe("`Host` header values to accept. Loopback names are always accepted on a loopback bind."),
    allowedOrigins: z
      .array(
        z
          .string()
          .regex(ORIGIN, { error: 'must be an origin such as "https://app.example.com"' })
          .meta(orVariable(ORIGIN)),
      )
      .default([])
      .describe("`Origin` header values to accept besides loopback origins."),
    maxBodyBytes: z
      .int()
      .min(1_024)
      .max(1_073_741_824)
      .default(4_194_304)
      .describe("The maximum size of a request body in bytes."),
    keepAliveTimeout: duration(
      "How long an idle connection stays open; longer than a load balancer in front keeps its own, which would send a request into the connection that closes. From 1s to 1h.",
    )
      .refine(
        (text) => {
          const ms = parseDuration(text);
          return ms === undefined || (ms >= 1_000 && ms <= 3_600_000);
        },
        { error: "must be from 1s to 1h" },
      )
      .default("75s"),
    legacySse: z
      .boolean()
      .default(false)
      .describe("Also serves the HTTP+SSE transport of 2024-11-05 at `/sse` and `/messages`."),
    serverCard: z
      .union([z.boolean(), serverCard])
      .default(false)
      .describe(
        "Serves a server card (SEP-2127, a draft) at `PATH/server-card` and a catalog at `/.well-known/mcp/catalog.json` and `/.well-known/ai-catalog.json`, without credentials: the address of the gateway, and nothing of its servers. `listen.http.publicUrl` is the address in it. Default: no.",
      ),
    publicUrl: publicAddress
      .exactOptional()
      .describe(
        "The URL under which browsers reach this listener, for pages and callbacks of sign-ins; its host is an allowed one. Default: `http://127.0.0.1:PORT`.",
      ),
    trustedProxies: z
      .array(trustedProxy)
      .default([])
      .describe(
        "The proxies in front of the gateway, whose `X-Forwarded-For` or `Forwarded` says where a request comes from: addresses, ranges such as `10.0.0.0/8`, `loopback`, `linklocal` or `private`. From other peers these headers are ignored. Addresses are used in logs and for rate limits of refused requests.",
      ),
    insecure: z
      .boolean()
      .default(false)
      .describe(
        "Allows listening beyond loopback without `auth`: every client that reaches the port may call.",
      ),
  })
  .refine(({ path, legacySse }) => !(legacySse && SSE_PATHS.includes(path)), {
    path: ["path"],
    error: "is a path of the HTTP+SSE transport, which legacySse serves",
  });

const callCount = (least: number) => z.int().min(least).max(1_000_000);

const parkedCalls = z.strictObject({
  total: callCount(0)
    .default(2_000)
    .describe("The maximum number of parked calls. With 0 a host gets -32021 (missing capability) instead."),
  perPrincipal: callCount(1)
    .default(500)
    .describe(
      "The maximum per principal. A principal at its share of this, of `total` or of `perServer` loses its own oldest parked call to its next one; calls of other principals stay. Without authentication the next call is not parked, and its server gets an error.",
    ),
  perServer: callCount(1).default(500).describe("The maximum per server."),
  answerTimeout: duration(
    "How long a parked call waits for answers before it is cancelled at its server. A question to a host with a session times out after two thirds of it, so that the server gets the outcome.",
  ).default("15m"),
});

const EXPOSED_NAMES = "exposed names";

const profileKeys = (sections: readonly Section[]) => ({
  servers: z.array(z.string()).optional().describe("The keys of the servers in it. Default: all."),
  tools: nameFilter(EXPOSED_NAMES)
    .extend(keysWithin(sections, "tools", "profile") as Readonly<Record<never, z.ZodType>>)
    .default({ allow: ["*"], deny: [] })
    .describe(
      "The tools in it, and which of them hosts list. Missing keys default to those of the top-level `tools`.",
    ),
  prompts: nameFilter(EXPOSED_NAMES)
    .default({ allow: ["*"], deny: [] })
    .describe("The prompts in it."),
  resources: nameFilter("exposed URIs and URI templates")
    .default({ allow: ["*"], deny: [] })
    .describe("The resources and resource templates in it."),
  ...(keysWithin(sections, undefined, "profile") as Readonly<Record<never, z.ZodType>>),
});

type ProfileShape = z.output<z.ZodObject<ReturnType<typeof profileKeys>>>;

/** The zod schema of one profile, with the keys of features. */
export const profileSchema = (sections: readonly Section[]): z.ZodType<ProfileShape> =>
  z.strictObject(profileKeys(sections)).meta({ id: "profile" });

/** The keys of the gateway before those of features. */
const firstKeys = (sections: readonly Section[]) => {
  const servers = z.record(z.string().min(1), wholeServerSchema(sections).meta({ id: "server" }));
  return {
    $schema: z.string().optional().describe("The JSON Schema for editors; Cardea ignores it."),
    listen: z
      .strictObject({
        http: http.prefault({}).describe("The listener for hosts."),
        ...(keysWithin(sections, "listen") as Readonly<Record<never, z.ZodType>>),
      })
      .prefault({})
      .describe("The addresses and ports of the listeners. A change needs a restart."),
    auth: authSchema(sections)
      .exactOptional()
      .describe("Authentication over HTTP. Without it all hosts are one `anonymous` principal."),
    mcpServers: servers.default({}).describe("The servers behind the gateway, by name."),
    servers: servers.default({}).describe("The same as `mcpServers`, as VS Code writes it."),
    context_servers: servers.default({}).describe("The same as `mcpServers`, as Zed writes it."),
    envFile: z
      .string()
      .min(1)
      .exactOptional()
      .describe(
        "A file with `NAME=value` lines, relative to this file: variables of this file are looked up there first, then in the environment. `init` and `add` keep secrets there. It is read with this file.",
      ),
    startupWait: wait(
      "How long the first list of a host waits for servers that are still starting and whose lists were never known, all at once; for a `required` server up to its `connectTimeout`. Many hosts keep the first list that they get. A server that failed, or has not started within this time, is not waited for again; with `0s` no list waits.",
    ).default("10s"),
    lease: leaseSchema.default("auto").describe("`lease` of the servers that have none of their own."),
    naming: z
      .strictObject({
        separator: z
          .string()
          .regex(/^[\w-]{1,8}$/, { error: "must be one to eight of the characters A-Z a-z 0-9 _ -" })
          .default("__")
          .describe("The text between a server's prefix and a name: one to eight of `A-Z a-z 0-9 _ -`."),
        maxLength: z
          .int()
          .min(24)
          .max(128)
          .default(50)
          .describe(
            "The maximum length of an exposed name, from 24 to 128; a longer one is cut and ends in a hash. Models accept 64 characters, and hosts add a prefix of their own.",
          ),
      })
      .prefault({})
      .describe("How exposed names of tools and prompts are built."),
    parkedCalls: parkedCalls
      .prefault({})
      .describe(
        "Calls that wait for the answer of a person or a model: calls of 2026-07-28 hosts during which a legacy server sent a question.",
      ),
    keys: z
      .strictObject({
        state: z
          .string()
          .min(32, { error: "must have at least 32 random characters" })
          .describe(
            "The secret from which the keys for request state and task handles are derived. All processes that serve the same hosts need the same one. Default: a random one at each start. A change needs a restart.",
          ),
      })
      .exactOptional()
      .describe("Secrets of the gateway; use variables."),
  };
};

/** The keys of the gateway after those of features. */
const lastKeys = (sections: readonly Section[]) => ({
  registry: z
    .string()
    .regex(REGISTRY, {
      error: 'must be an address such as "https://registry.modelcontextprotocol.io"',
    })
    .meta(orVariable(REGISTRY))
    .exactOptional()
    .describe(
      "The registry in which `cardea add` looks up names such as `io.github.owner/server`. The gateway itself never uses it.",
    ),
  profiles: z
    .record(z.string().min(1), profileSchema(sections))
    .default({})
    .describe("Named subsets, each served at `/mcp/NAME`."),
});

const keysOf = (sections: readonly Section[]) => ({
  telemetry: telemetrySchema(sections)
    .exactOptional()
    .describe("Traces, and the trace context that hosts send."),
});

type GatewayKeys = ReturnType<typeof firstKeys> & ReturnType<typeof keysOf> & ReturnType<typeof lastKeys>;

/** The zod schema of the whole file, with the sections of features. */
export const fileSchema = (sections: readonly Section[]): z.ZodType<FileShape> =>
  z.strictObject(
    inOrder(
      { ...firstKeys(sections), ...keysWithin(sections), ...keysOf(sections), ...lastKeys(sections) },
      sections,
      "file",
    ),
  );

/** The keys of the gateway, as they are written. Those of features are found by `settingsOf`. */
export type FileShape = z.infer<z.ZodObject<GatewayKeys>>;
