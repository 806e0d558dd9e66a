/** The routes of the admin listener: health, metrics, status as JSON, and the console. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { getRequestListener, type HttpBindings } from "@hono/node-server";
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import { Hono } from "hono";
import { type AdminCaller, type AdminPage, BadQuery, NOTHING_ADDED } from "../../core/admin-page.js";
import { ERRORS, GatewayError } from "../../core/errors.js";
import { shortText } from "../../core/short-text.js";
import { HttpRefusal } from "../../downstream/http-errors.js";
import { checkOperatorRequestHead, rebindingProtection } from "../../http/check-request-head.js";
import { peerOf } from "../../http/client-address.js";
import { isLoopback } from "../../http/loopback.js";
import { negotiatedMetrics } from "../../telemetry/open-metrics.js";
import { writeJson } from "../../wire/json-text.js";
import { AdminAccess } from "./access.js";
import { addActionRoutes, isActionPath } from "./actions.js";
import { bodyText } from "./body-text.js";
import { CallStreams } from "./call-stream.js";
import { type AdminApp, type AdminContext, isAtLeast, operatorOf } from "./caller.js";
import { consoleFiles } from "./console-files.js";
import { ConsoleLinks } from "./console-links.js";
import { addConsoleRoutes, LINK_PATH, UNLOCK_PATH } from "./console-routes.js";
import { actionsOf, addFeatureRoutes, isFeaturePath, neededFor } from "./feature-actions.js";
import { addPersonRoutes, ME_PATH } from "./person-routes.js";
import type { AdminListenerOptions } from "./server.js";

/** The route that calls tools. */
const CALLS_PATH = "/api/v1/calls";
/** The MCP endpoint of the console. */
const MCP_PATH = "/api/v1/mcp";

const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  "content-security-policy":
    "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "cache-control": "no-store",
};

/**
 * Serves the listener's requests.
 *
 * @throws Error if a file of the console is missing from the package
 */
export function adminRequests(
  settings: AdminListenerOptions,
  pages: readonly AdminPage[],
): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  // Otherwise routes that are loaded later would use the classes that Hono substitutes for the global ones.
  return getRequestListener(adminApp(settings, pages).fetch, { overrideGlobalObjects: false });
}

/** The routes of the listener; exported for a test that visits each. */
export function adminApp(settings: AdminListenerOptions, pages: readonly AdminPage[]): AdminApp {
  // Processes of this gateway connect to a socket, and show no console.
  const links = settings.socket === undefined ? new ConsoleLinks() : undefined;
  const isInternal = settings.socket !== undefined;
  const access = new AdminAccess({
    ...settings,
    isInternal,
    isPage: links && ((sent) => links.isPage(sent)),
  });
  const { addressOf = peerOf } = settings;
  const files = consoleFiles();
  const app: AdminApp = new Hono({ strict: false });
  addChecks(app, settings, access, files);
  addProbes(app, settings, access);
  addCalls(app, settings, access);
  addFeatureRoutes(
    app,
    settings.featureActions ?? [],
    access.refusedAction,
    (caller, { action, named, outcome }) => {
      if (action.event === undefined) return;
      const [server, id] = [named("server"), named("id")];
      const target = id === "" ? server : id;
      const by = operatorOf(caller);
      settings.logger.info(
        { action: action.event, server, target: shortText(target, 200), outcome, ...by },
        "an operator acted",
      );
      settings.emit?.({ kind: "admin", ...by, method: action.event, server, target, outcome });
    },
  );
  if (settings.actions !== undefined)
    addActionRoutes(app, settings.actions, (c, action) =>
      access.refusedAction(c, "an action", neededFor(action)),
    );
  addPersonRoutes(app, access, settings);
  if (links !== undefined) addConsoleRoutes(app, links, access, addressOf);
  addPages(app, settings, pages, access);
  for (const [path, file] of files) {
    app.get(path, async (c) => {
      if (path === "/") c.header("content-security-policy", await pagePolicy(settings));
      return c.body(file.text, 200, { "content-type": file.type, "cache-control": file.cache });
    });
  }
  app.notFound((c) => c.json({ error: "there is nothing at this path" }, 404));
  addErrors(app, settings);
  return app;
}

/** The policy of the console, which asks the authorization server for tokens by itself. */
async function pagePolicy({ access, persons }: AdminListenerOptions): Promise<string> {
  const { "content-security-policy": policy = "" } = SECURITY_HEADERS;
  const offer = access === undefined ? undefined : await persons?.offer();
  return offer === undefined ? policy : `${policy}; connect-src 'self' ${new URL(offer.issuer).origin}`;
}

/** Headers, the Host header, the token and the method, before any route. */
function addChecks(
  app: AdminApp,
  settings: AdminListenerOptions,
  access: AdminAccess,
  files: ReturnType<typeof consoleFiles>,
): void {
  // Served without the token: probes have none, and the console prompts for it.
  const open = new Set(["/healthz", "/readyz", ME_PATH, UNLOCK_PATH, ...files.keys()]);
  // Persons have other rights than scrapers: who needs a token for metrics is not changed by `access`.
  if (settings.token === undefined && isLoopback(settings.host)) open.add("/metrics");
  const consolePaths = new Set(settings.socket === undefined ? [LINK_PATH, UNLOCK_PATH] : []);
  const hostCheck = rebindingProtection({
    bind: settings.host,
    allowedHosts: settings.allowedHosts ?? [],
    allowedOrigins: [],
  });
  const isOfFeature = isFeaturePath(settings.featureActions ?? []);
  const isAct = settings.actions === undefined ? () => false : isActionPath(settings.actions);
  app.use(async (c, next) => {
    for (const [name, value] of Object.entries(SECURITY_HEADERS)) c.header(name, value);
    checkOperatorRequestHead(c.env.incoming as IncomingMessage, hostCheck);
    const refused = open.has(c.req.path) ? undefined : await access.identify(c);
    if (refused !== undefined) return refused;
    const { path, method } = c.req;
    const isCall = path === CALLS_PATH && settings.call !== undefined;
    const isMcp = settings.mcp !== undefined && path === MCP_PATH;
    const isAction =
      method === "POST" && (isCall || isMcp || isOfFeature(path) || isAct(path) || consolePaths.has(path));
    if (method !== "GET" && method !== "HEAD" && !isAction) {
      return c.json({ error: "only GET is served here" }, 405, { allow: "GET, HEAD" });
    }
    return next();
  });
}

function addProbes(app: AdminApp, settings: AdminListenerOptions, access: AdminAccess): void {
  app.get("/healthz", (c) => c.json({ status: "ok" }));
  app.get("/readyz", async (c) => {
    const readiness = await settings.readiness();
    return c.json(readiness, readiness.ready ? 200 : 503);
  });
  app.get("/metrics", async (c) => {
    const refused = access.refusedPage(c);
    if (refused !== undefined) return refused;
    const all = await settings.metrics.text();
    const { text, contentType } = negotiatedMetrics(all, c.req.header("accept"));
    return c.body(text, 200, { "content-type": contentType, vary: "Accept" });
  });
}

/** Calls of tools, for commands, and the MCP endpoint of the console. */
function addCalls(app: AdminApp, { call, mcp }: AdminListenerOptions, access: AdminAccess): void {
  app.post(CALLS_PATH, async (c) => {
    const refused = access.refusedAction(c, "a call");
    if (refused !== undefined) return refused;
    const reply = (await call?.(await bodyText(c.req.raw), disconnection(c.env), c.get("caller"))) ?? "null";
    return c.body(reply, 200, { "content-type": "application/json" });
  });
  if (mcp === undefined) return;
  app.post(MCP_PATH, async (c) => {
    const refused = access.refusedAction(c, "a request");
    if (refused !== undefined) return refused;
    const { incoming, outgoing } = c.env;
    for (const [name, value] of Object.entries(SECURITY_HEADERS)) outgoing.setHeader(name, value);
    await mcp(incoming as IncomingMessage, outgoing as ServerResponse, c.get("caller"));
    return RESPONSE_ALREADY_SENT;
  });
}

function addPages(
  app: AdminApp,
  settings: AdminListenerOptions,
  pages: readonly AdminPage[],
  access: AdminAccess,
): void {
  const { redact = (text) => text, callFeed } = settings;
  // Pages quote servers, whose texts may contain secrets.
  const withoutSecrets = (value: unknown): unknown => (typeof value === "string" ? redact(value) : value);
  app.get("/api/v1", (c) => c.json(contents(settings, pages, c.get("caller"))));
  if (callFeed !== undefined) {
    const streams = new CallStreams(callFeed, (row) => writeJson(row, undefined, withoutSecrets));
    app.get(`${CALLS_PATH}/stream`, (c) => {
      const refused = access.refusedPage(c);
      if (refused !== undefined) return refused;
      if (streams.isFull) return c.json({ error: "too many streams of calls are open" }, 503);
      streams.serve(new URL(c.req.url).searchParams, c.env.outgoing as ServerResponse, SECURITY_HEADERS);
      return RESPONSE_ALREADY_SENT;
    });
  }
  app.get("/api/v1/openapi.json", async (c) => {
    const refused = access.refusedPage(c);
    if (refused !== undefined) return refused;
    // The schema library is loaded with the first request for it.
    const { openApiDocument } = await import("./openapi.js");
    const { version = "0", featureActions = [], added = NOTHING_ADDED, actions } = settings;
    const ofFeatures = actionsOf(featureActions);
    return c.json(openApiDocument({ version, pages, ofFeatures, added, operatorActions: actions?.kinds }));
  });
  const show = async (c: AdminContext, { handler, isForPersons }: AdminPage) => {
    const refused = access.refusedPage(c, isForPersons === true ? "person" : "viewer");
    if (refused !== undefined) return refused;
    const query = new URL(c.req.url).searchParams;
    const shown = (await handler(query, disconnection(c.env), c.get("caller"))) ?? null;
    return c.body(writeJson(shown, undefined, withoutSecrets), 200, { "content-type": "application/json" });
  };
  const byPath = new Map(pages.map((page) => [page.path, page]));
  for (const [path, page] of byPath) {
    if (path.includes("/")) app.get(`/api/v1/${path}`, (c) => show(c, page));
  }
  app.get("/api/v1/:page", (c) => {
    const page = byPath.get(c.req.param("page"));
    return page === undefined ? c.notFound() : show(c, page);
  });
}

function addErrors(app: AdminApp, { logger, redact = (text) => text }: AdminListenerOptions): void {
  app.onError((error, c) => {
    // Errors quote servers, as pages do.
    if (error instanceof HttpRefusal)
      return c.json({ error: error.message }, error.status as 401 | 403 | 503, error.headers);
    if (error instanceof BadQuery) return c.json({ error: redact(error.message) }, 400);
    if (error instanceof GatewayError) {
      const { http } = ERRORS[error.code];
      // A resource that a server lacks is a result for a host, not an admin page.
      return c.json({ error: redact(error.message) }, (http === 200 ? 503 : http) as 400 | 403 | 413 | 503);
    }
    logger.error({ path: c.req.path.slice(0, 200), error }, "an admin page failed");
    return c.json({ error: "internal error; see the gateway's log" }, 500);
  });
}

/** The paths below `/api/v1` that the caller may use; the console shows the views and the actions that they support. */
function contents(
  { callFeed, call, mcp, featureActions = [], actions }: AdminListenerOptions,
  pages: readonly AdminPage[],
  caller: AdminCaller | undefined,
): object {
  const [reads, acts] = (["viewer", "operator"] as const).map(
    (role) => caller === undefined || isAtLeast(caller.role, role),
  );
  const names = [
    ...pages.flatMap(({ path, isForPersons }) => (reads || isForPersons === true ? [path] : [])),
    ...(callFeed === undefined || !reads ? [] : ["calls/stream"]),
  ];
  const ofFeatures = actionsOf(featureActions).filter(
    (action) => action.isListed === true && (acts || neededFor(action) === "person"),
  );
  return {
    pages: names.map((name) => `/api/v1/${name}`),
    actions: [
      ...(call === undefined || !acts ? [] : [CALLS_PATH]),
      ...(mcp === undefined || !acts ? [] : [MCP_PATH]),
      ...ofFeatures.map(({ path }) => `/api/v1/${path}`),
      ...(acts ? (actions?.kinds ?? []) : []).map(({ path }) => `/api/v1/${path}`),
    ],
  };
}

/** Aborts when the response is sent or the client disconnects. */
function disconnection({ outgoing }: HttpBindings): AbortSignal {
  const gone = new AbortController();
  outgoing.once("close", () => gone.abort());
  return gone.signal;
}
