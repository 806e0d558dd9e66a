/** `GET /api/v1/openapi.json`: the admin API as OpenAPI 3.1, generated from one table of its routes. */
import { z } from "zod";
import { LIST_KINDS } from "../core/lists.js";
import { ACTION_PATHS } from "./actions.js";
import * as schemas from "./api-schemas.js";

/** One route of the admin API. */
interface ApiRoute {
  readonly method: "get" | "post";
  /** With parameters in braces. */
  readonly path: string;
  readonly summary: string;
  /** Parameters of the query; an exclamation mark ends the name of a required one. */
  readonly query?: readonly string[];
  /** Whether a listener serves it only if it has this page. */
  readonly page?: string;
  /** Members of the JSON body. */
  readonly body?: z.ZodType;
  readonly answer: z.ZodType;
  /** Default: `application/json`. */
  readonly type?: "application/json" | "text/event-stream";
}

const page = (name: string, summary: string, answer: z.ZodType, query: readonly string[] = []): ApiRoute => ({
  method: "get",
  path: `/api/v1/${name}`,
  summary,
  query,
  answer,
  page: name,
});
/** A route that each listener serves. */
const fixed = (
  path: string,
  summary: string,
  answer: z.ZodType,
  query: readonly string[] = [],
): ApiRoute => ({
  ...{ method: "get", path, summary, query, answer },
});

const FILTERS = ["principal", "server", "tool", "outcome"];
const AS = ["as", "group", "scope"];
const ACTIONS = {
  restart_server: "End the connections of a server and start it again",
  disable_tool: "Hide a tool from all hosts until the next reload",
  enable_tool: "Show a disabled tool again",
  end_session: "End a session over HTTP",
  cancel_call: "Cancel a running call",
  revoke_approval: "Revoke a remembered approval",
} as const satisfies Record<keyof typeof ACTION_PATHS, string>;

const login = z.looseObject({ login: z.string() });

/** Every route below `/api/v1`, and the probes. */
const API_ROUTES: readonly ApiRoute[] = [
  fixed("/healthz", "Whether the process is alive", z.object({ status: z.literal("ok") })),
  fixed("/readyz", "Whether calls can be served; 503 if not", schemas.readiness),
  fixed("/api/v1", "The list of pages", schemas.pages),
  fixed("/api/v1/openapi.json", "This document", z.looseObject({ openapi: z.string() })),
  page("status", "The gateway: version, process, readiness", schemas.status),
  page("servers", "Each server and its state", schemas.servers),
  page("catalog", "Tools, prompts and resources by exposed name", schemas.catalog),
  page("lists", "One list with whole entries, as a principal sees it", schemas.lists, [
    ...["kind!", "at", "all", "capabilities"],
    ...AS,
  ]),
  page("sessions", "Hosts that are connected", schemas.sessions),
  page("questions", "Questions that wait for an answer", schemas.questions),
  page("decisions", "The last decisions of rules", schemas.decisions),
  page("explain", "Whether a call would be allowed, and why", schemas.explanation, [
    "name!",
    "args",
    "wait",
    ...AS,
  ]),
  page("tokens", "What the definitions of tools cost a model", schemas.tokens, AS),
  page("logins", "Who is signed in at which server", schemas.logins),
  page("calls", "The last calls, the newest first", z.array(schemas.call), ["limit", ...FILTERS]),
  page("calls/running", "Calls under way", schemas.runningCalls),
  {
    ...fixed("/api/v1/calls/stream", "Calls as they end", schemas.call, FILTERS),
    type: "text/event-stream",
  },
  page("history", "The last hour in numbers", schemas.history),
  page("approvals", "Remembered approvals", schemas.approvals),
  page("tools/disabled", "Tools that are disabled until the next reload", schemas.disabledTools),
  page("config", "The config in effect, secrets masked", schemas.config),
  page("cluster", "The replicas of the cluster; none without a cluster", schemas.cluster),
  page("workers", "Each worker process; only with several workers", schemas.workers),
  {
    ...{ method: "post", path: "/api/v1/calls", summary: "Call a tool", answer: schemas.reply },
    body: z.object({ name: z.string(), arguments: z.looseObject({}).optional() }),
  },
  {
    ...{ method: "post", path: "/api/v1/mcp", summary: "MCP 2026-07-28 of the gateway, for the console" },
    ...{ body: z.looseObject({ method: z.string() }), answer: z.looseObject({}) },
  },
  {
    ...{ method: "post", path: "/api/v1/logins/{server}", summary: "Begin a sign-in", answer: login },
    body: z.object({
      as: z.string().optional(),
      device: z.boolean().optional(),
      acceptsAudience: z.boolean().optional(),
    }),
  },
  {
    ...{ method: "post", path: "/api/v1/logins/{server}/accept-issuer" },
    ...{ summary: "Pin the issuer that a server names now", body: z.object({}) },
    answer: z.looseObject({ server: z.string(), issuer: z.string(), isChanged: z.boolean() }),
  },
  {
    ...{ method: "post", path: "/api/v1/logins/{server}/{id}/sign-out", summary: "Sign a principal out" },
    ...{ body: z.object({}), answer: z.looseObject({ wasSignedIn: z.boolean() }) },
  },
  {
    ...{ method: "post", path: "/api/v1/sign-ins/state", summary: "The outcome of a sign-in" },
    ...{ body: z.object({ login: z.string() }), answer: z.looseObject({ state: z.string() }) },
  },
  {
    ...{ method: "post", path: "/api/v1/sign-ins/finish", summary: "Finish a sign-in" },
    ...{ body: z.object({ login: z.string(), url: z.string() }), answer: z.looseObject({}) },
  },
  ...(Object.keys(ACTIONS) as (keyof typeof ACTIONS)[]).map(
    (action): ApiRoute => ({
      ...{ method: "post", path: `/api/v1/${ACTION_PATHS[action].replace(":target", "{target}")}` },
      ...{ summary: ACTIONS[action], answer: schemas.done },
      body: z.object({ worker: z.int().optional() }),
    }),
  ),
];

const JSON_TYPE = "application/json";

/** The document of a listener with these pages. */
export function openApiDocument(version: string, pages: ReadonlySet<string>): object {
  const paths = new Map<string, Record<string, object>>();
  for (const route of API_ROUTES) {
    if (route.page !== undefined && !pages.has(route.page)) continue;
    const operations = paths.get(route.path) ?? {};
    operations[route.method] = operationOf(route);
    paths.set(route.path, operations);
  }
  return {
    openapi: "3.1.0",
    info: { title: "Cardea admin API", version, license: { name: "Apache-2.0" } },
    security: [{ token: [] }],
    components: { securitySchemes: { token: { type: "http", scheme: "bearer" } } },
    paths: Object.fromEntries(paths),
  };
}

function operationOf({ path, summary, query = [], body, answer, type = JSON_TYPE }: ApiRoute): object {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    ...{ name, in: "path", required: true, schema: { type: "string" } },
  }));
  const inQuery = query.map(parameterOf);
  return {
    summary,
    ...(inPath.length + inQuery.length > 0 && { parameters: [...inPath, ...inQuery] }),
    ...(body !== undefined && { requestBody: { required: true, content: contentOf(body, JSON_TYPE) } }),
    responses: {
      200: { description: "Done", content: contentOf(answer, type) },
      default: { description: "An error, as a sentence", content: contentOf(schemas.problem, JSON_TYPE) },
    },
  };
}

/** A parameter of a query; some are repeated (`group=a&group=b`). */
function parameterOf(spec: string): object {
  const name = spec.replace("!", "");
  return {
    ...{ name, in: "query", ...(spec !== name && { required: true }) },
    schema: PARAMETERS[name] ?? { type: "string" },
  };
}

const REPEATED = { type: "array", items: { type: "string" } };
const PARAMETERS: Readonly<Record<string, object>> = {
  kind: { type: "string", enum: LIST_KINDS },
  limit: { type: "integer", minimum: 1 },
  group: REPEATED,
  scope: REPEATED,
};

const contentOf = (schema: z.ZodType, type: string): object => ({
  [type]: { schema: z.toJSONSchema(schema) },
});
