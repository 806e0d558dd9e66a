/** `GET /api/v1/openapi.json`: the admin API as OpenAPI 3.1, written from its pages and actions. */
import { z } from "zod";
import type { AddedToPages, PageKind } from "../../core/admin-page.js";
import type { AdminAction, OperatorAction } from "../../core/feature.js";
import { LIST_KINDS } from "../../core/lists.js";
import { OPERATOR_ACTIONS } from "./actions.js";
import * as schemas from "./api-schemas.js";
import { PAGE_TABLE, withFeaturePages } from "./page-table.js";

/** An operation of the admin API. */
interface ApiRoute {
  readonly method: "get" | "post";
  /** With parameters in braces. */
  readonly path: string;
  readonly summary: string;
  /** See `PageKind`. */
  readonly query?: readonly string[];
  /** JSON Schemas. */
  readonly body?: object;
  readonly answer: object;
  /** Default: `application/json`. */
  readonly type?: "application/json" | "text/event-stream";
}

/** What each listener serves beside its pages. */
const probes = (): readonly ApiRoute[] => {
  const get = (path: string, summary: string, answer: z.ZodType): ApiRoute => ({
    ...{ method: "get", path, summary, answer: z.toJSONSchema(answer) },
  });
  return [
    get("/healthz", "Whether the process is alive", z.object({ status: z.literal("ok") })),
    get("/readyz", "Whether calls can be served; 503 if not", schemas.readiness),
    get("/api/v1", "The list of pages", schemas.pages),
    get("/api/v1/me", "Who asks, and where persons sign in", schemas.me),
    get("/api/v1/openapi.json", "This document", z.looseObject({ openapi: z.string() })),
  ];
};

/** Calls, and the actions of features and of the gateway itself. */
function posts(
  ofFeatures: readonly AdminAction[],
  operatorActions: readonly OperatorAction[],
): readonly ApiRoute[] {
  const post = (path: string, summary: string, body: z.ZodType, answer: z.ZodType): ApiRoute => ({
    ...{ method: "post", path: inBraces(`/api/v1/${path}`), summary },
    ...{ body: z.toJSONSchema(body), answer: z.toJSONSchema(answer) },
  });
  const call = z.object({ name: z.string(), arguments: z.looseObject({}).optional() });
  const message = z.looseObject({ method: z.string() });
  const worker = z.object({ worker: z.int().optional() });
  return [
    post("calls", "Call a tool", call, schemas.reply),
    post("console/link", "Make a link that unlocks the console once", z.object({}), schemas.consoleLink),
    post(
      "console/unlock",
      "Unlock the console with the code of a link",
      schemas.consoleCode,
      schemas.pageToken,
    ),
    post("mcp", "MCP 2026-07-28 of the gateway, for the console", message, z.looseObject({})),
    ...ofFeatures.map(
      ({ path, summary, bodySchema, answerSchema }): ApiRoute => ({
        ...{ method: "post", path: inBraces(`/api/v1/${path}`), summary },
        ...{ body: bodySchema(), answer: answerSchema() },
      }),
    ),
    ...operatorActions.map(({ path, summary }) => post(path, summary, worker, schemas.done)),
  ];
}

/** `a/:b` as `a/{b}`. */
const inBraces = (path: string): string => path.replace(/:(\w+)/g, "{$1}");

const JSON_TYPE = "application/json";

/** What a listener serves. */
interface DocumentedListener {
  readonly version: string;
  readonly pages: readonly PageKind[];
  /** The actions of features. */
  readonly ofFeatures: readonly AdminAction[];
  /** What features add to other pages. */
  readonly added: AddedToPages;
  /** Default: those of the gateway itself. */
  readonly operatorActions?: readonly OperatorAction[] | undefined;
}

/** The document of a listener. */
export function openApiDocument({
  version,
  pages,
  ofFeatures,
  added,
  operatorActions = OPERATOR_ACTIONS,
}: DocumentedListener): object {
  const paths = new Map<string, Record<string, object>>();
  for (const route of [
    ...probes(),
    ...inOrder(pages).map((page) => routeOf(page, added)),
    ...posts(ofFeatures, operatorActions),
  ]) {
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

/** In the order of the table, with its streams. */
function inOrder(pages: readonly PageKind[]): readonly PageKind[] {
  const served = new Set(pages.map(({ path }) => path));
  const own = new Set(PAGE_TABLE.map(({ path }) => path));
  const ofFeatures = pages.filter(({ path }) => !own.has(path));
  return withFeaturePages(ofFeatures).filter(({ path, isStream }) => isStream === true || served.has(path));
}

const routeOf = (
  { path, summary, query = [], answerSchema, isStream }: PageKind,
  added: AddedToPages,
): ApiRoute => ({
  ...{ method: "get", path: `/api/v1/${path}`, summary, query, answer: answerSchema(added) },
  ...(isStream === true && { type: "text/event-stream" }),
});

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
      default: {
        description: "An error, as a sentence",
        content: contentOf(z.toJSONSchema(schemas.problem), JSON_TYPE),
      },
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
  after: REPEATED,
  group: REPEATED,
  scope: REPEATED,
};

const contentOf = (schema: object, type: string): object => ({ [type]: { schema } });
