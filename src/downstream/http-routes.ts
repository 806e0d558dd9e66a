/** Which path leads where, and what is answered there. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { ListenConfig } from "../config/config.js";
import type { Principal } from "../core/client.js";
import type { HostRoute } from "../core/feature.js";
import type { Readiness } from "../core/gateway-api.js";
import type { Logger } from "../core/logger.js";
import {
  checkOperatorRequestHead,
  checkPageRequestHead,
  checkPublicRequestHead,
  checkRequestHead,
  type RebindingProtection,
} from "../http/check-request-head.js";
import { placeIn } from "../http/resources.js";
import type { Authentication } from "./authenticate/authentication.js";
import { METADATA_PATH, pathOf } from "./authenticate/refusals.js";
import { isForBrowser, leadToPage } from "./browser-page.js";
import { allowOrigin, answerPreflight } from "./cors.js";
import { type HttpEdge, type HttpExchange, MESSAGES_PATH } from "./edge.js";
import type { Forwarder } from "./forward-to-owner.js";
import { HttpRefusal, httpFailure, sendFailure } from "./http-errors.js";
import {
  FailedMessage,
  type McpEndpoint,
  type McpEndpointSettings,
  mcpEndpoint,
  notAllowed,
} from "./mcp-endpoint.js";

import { type PublicPage, writePublicPage } from "./server-card.js";

/** An edge that opens streams, as the transport of 2024-11-05 needs one. */
export type SseEdge = HttpEdge & Pick<Required<HttpEdge>, "get">;

interface HttpRouteSettings extends Omit<McpEndpointSettings, "maxBodyBytes" | "allow" | "forwarder"> {
  /** Where there are other processes of this gateway. */
  readonly forwarder?: Pick<
    Forwarder,
    "forwardByMessage" | "forwardMoved" | "forwardBySession" | "principalOf"
  >;
  readonly listen: Pick<ListenConfig["http"], "path" | "maxBodyBytes">;
  readonly sse?: SseEdge;
  readonly readiness: () => Readiness;
  readonly authentication: Authentication;
  /** Public pages, by path. Default: there are none. */
  readonly publicPages?: ReadonlyMap<string, PublicPage>;
  /** The paths of features. Default: there are none. */
  readonly featureRoutes?: readonly HostRoute[];
  readonly rebindingProtection: RebindingProtection;
  readonly logger: Logger;
}

type RouteHandler = (
  request: IncomingMessage,
  response: ServerResponse,
  name: string,
) => void | Promise<void>;

/** One path, and what serves it; `name` is the part of the path that matched `:name`, else empty. */
export interface HttpRoute {
  /** As Hono writes paths. */
  readonly path: string;
  readonly handle: RouteHandler;
}

/** Every path there is. Each but the probes, the metadata and those of features asks for credentials before anything else. */
export const routeTable = (settings: HttpRouteSettings): readonly HttpRoute[] =>
  new RouteTable(settings).routes();

class RouteTable {
  readonly #settings: HttpRouteSettings;
  /** The MCP path without its last slash. */
  readonly #base: string;

  constructor(settings: HttpRouteSettings) {
    this.#settings = settings;
    this.#base = settings.listen.path.replace(/\/$/, "");
  }

  routes(): readonly HttpRoute[] {
    const { publicPages = [], featureRoutes = [] } = this.#settings;
    const base = this.#base;
    const mcp = this.#mcp();
    return [
      { path: "/healthz", handle: (request, response) => this.#healthz(request, response) },
      { path: "/readyz", handle: (request, response) => this.#readyz(request, response) },
      { path: METADATA_PATH, handle: (request, response) => this.#metadata(request, response) },
      { path: `${METADATA_PATH}/*`, handle: (request, response) => this.#metadata(request, response) },
      ...[...publicPages].map(([path, page]) => ({ path, handle: this.#publicPage(page) })),
      { path: base === "" ? "/" : base, handle: mcp },
      { path: `${base}/:name`, handle: mcp },
      ...featureRoutes.map((route) => ({ path: route.path, handle: this.#ofFeature(route) })),
      ...this.#sse(),
      // An unknown path is answered with 404 only after authentication.
      { path: "*", handle: this.#notFound },
    ];
  }

  #mcp(): RouteHandler {
    const serveMcp = this.#endpoint({});
    const page = this.#settings.featureRoutes?.find(({ isForPersons }) => isForPersons === true);
    return (request, response, name) => {
      // Before authentication: the page is for persons who have no host yet.
      if (!isForBrowser(request)) return serveMcp(request, response, name);
      checkPageRequestHead(request, this.#settings.rebindingProtection);
      if (page === undefined)
        return import("./endpoint-page.js").then((module) => module.sendEndpointPage(request, response));
      return leadToPage(request, response, page.path, name);
    };
  }

  #sse(): readonly HttpRoute[] {
    const { sse } = this.#settings;
    if (sse === undefined) return [];
    const [opening, taking] = [onlyGet(sse), onlyPost(sse)];
    const opens = this.#endpoint({ modern: opening, legacy: opening, allow: GET_ONLY });
    const takes = this.#endpoint({ modern: taking, legacy: taking, allow: POST_ONLY });
    return [
      { path: "/sse", handle: opens },
      { path: MESSAGES_PATH, handle: takes },
    ];
  }

  #endpoint(differences: Partial<McpEndpointSettings>): RouteHandler {
    const { maxBodyBytes } = this.#settings.listen;
    return this.#authenticated(mcpEndpoint({ ...this.#settings, maxBodyBytes, ...differences }));
  }

  readonly #notFound: RouteHandler = (...each) =>
    this.#authenticated((exchange) => this.#refusePath(exchange))(...each);

  /** The 404 names the MCP path: users open the URL in a browser, and hosts are configured with wrong paths. */
  async #refusePath({ request }: HttpExchange): Promise<never> {
    const { listen, sse } = this.#settings;
    const [path] = (request.url ?? "").split("?", 1);
    const older = path === "/sse" || path === MESSAGES_PATH;
    throw notFoundError(
      older && sse === undefined
        ? "the HTTP+SSE transport of 2024-11-05 is disabled; set listen.http.legacySse"
        : `there is nothing at this path; the MCP endpoint is ${listen.path}`,
    );
  }

  #authenticated(handler: McpEndpoint): RouteHandler {
    const { authentication, gateway, forwarder } = this.#settings;
    // A host that hung up meanwhile no longer triggers the cleanup, so its state would be kept for ever.
    const serveHere = (exchange: HttpExchange): Promise<void> | undefined =>
      exchange.response.destroyed ? undefined : handler(exchange);
    return (request, response, endpoint) => {
      const place = this.#placeOf(request.url);
      const challenge =
        place === ""
          ? authentication.challenge
          : (scopes: readonly string[]) => authentication.challenge(scopes, place);
      const serve = (identified: Principal) => {
        const principal = gateway.withHeaders?.(identified, request.headers) ?? identified;
        const exchange = { request, response, principal, endpoint, challenge };
        const forwarding = forwarder?.forwardBySession(exchange);
        if (forwarding === undefined) return serveHere(exchange);
        return forwarding.then((outcome) => (outcome === "here" ? serveHere(exchange) : undefined));
      };
      // The process that forwarded it has checked its head and its credentials.
      const sender = forwarder?.principalOf(request);
      if (sender !== undefined) return serve(sender);
      if (this.#handlePreflight(request, response)) return;
      const principal = authentication.authenticate(request, place);
      return principal instanceof Promise ? principal.then(serve) : serve(principal);
    };
  }

  #publicPage(page: PublicPage): RouteHandler {
    return (request, response) => {
      checkPublicRequestHead(request, this.#settings.rebindingProtection);
      if (request.method !== "OPTIONS") requireGetOrHead(request);
      writePublicPage(page, request, response);
    };
  }

  #ofFeature(route: HostRoute): RouteHandler {
    return (request, response, name) => {
      if (route.asker === "browser") checkPageRequestHead(request, this.#settings.rebindingProtection);
      else if (this.#handlePreflight(request, response)) return;
      return route.serve(request, response, name) ?? this.#notFound(request, response, name);
    };
  }

  /** Checks who is meant and on whose behalf; answers a browser that only asks, which never shows credentials. */
  #handlePreflight(request: IncomingMessage, response: ServerResponse): boolean {
    const { gateway, rebindingProtection } = this.#settings;
    checkRequestHead(request, rebindingProtection);
    const { origin } = request.headers;
    if (origin === undefined) return false;
    allowOrigin(response, origin);
    if (request.method === "OPTIONS") answerPreflight(request, response, gateway.headerNames?.() ?? []);
    return request.method === "OPTIONS";
  }

  #metadata(request: IncomingMessage, response: ServerResponse): void {
    const { authentication } = this.#settings;
    if (this.#handlePreflight(request, response)) return;
    const document = authentication.metadata();
    if (document === undefined) throw notFoundError();
    const about = request.url?.split("?", 1)[0]?.slice(METADATA_PATH.length) ?? "";
    // A proxy in front may show us under another path than the one we know.
    const place =
      about === "" || about === "/"
        ? ""
        : (placeIn(about, this.#base) ?? placeIn(about, pathOf(String(document.resource))));
    if (place === undefined) throw notFoundError();
    requireGetOrHead(request);
    writeJson(response, 200, authentication.metadata(place) ?? document);
  }

  /** What follows the MCP path in the URL of a request. */
  #placeOf(url = ""): string {
    if (url === this.#settings.listen.path) return "";
    const [path = ""] = url.split("?", 1);
    return placeIn(path, this.#base) ?? "";
  }

  #healthz(request: IncomingMessage, response: ServerResponse): void {
    checkOperatorRequestHead(request, this.#settings.rebindingProtection);
    requireGetOrHead(request);
    writeJson(response, 200, { status: "ok" });
  }

  #readyz(request: IncomingMessage, response: ServerResponse): void {
    checkOperatorRequestHead(request, this.#settings.rebindingProtection);
    requireGetOrHead(request);
    const found = this.#settings.readiness();
    writeJson(response, found.ready ? 200 : 503, found);
  }
}

/** Serves a request; settles when its answer is under way. */
export type RouteRequest = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

/** Serves any HTTP request; never throws, and answers whatever fails. */
export function httpRoutes(
  settings: HttpRouteSettings,
): (request: IncomingMessage, response: ServerResponse) => void {
  const table = routeTable(settings);
  // Hono takes a twentieth of a cold start, and few gateways receive requests for other paths.
  let others: Promise<RouteRequest> | undefined;
  const otherRoutes = (): Promise<RouteRequest> => {
    others ??= import("./route-by-path.js").then(({ routeByPath }) => routeByPath(table, dispatch));
    return others;
  };
  // Nearly every request is for this very path, and to be sent there by Hono costs 2 µs.
  const mcp = table.find(({ path }) => path === settings.listen.path);
  const serveMcp = (request: IncomingMessage, response: ServerResponse) => mcp?.handle(request, response, "");
  return (request, response) => {
    if (mcp !== undefined && request.url === mcp.path) dispatch(request, response, serveMcp);
    else
      otherRoutes()
        .then((route) => route(request, response))
        .catch((error: unknown) => fail(response, error));
  };

  /** Where Hono itself fails, which no request should make it. */
  function fail(response: ServerResponse, error: unknown): void {
    settings.logger.error({ error }, "a request failed on the way to its route");
    sendFailure(response, httpFailure(error));
  }

  function dispatch(
    request: IncomingMessage,
    response: ServerResponse,
    serve: (request: IncomingMessage, response: ServerResponse) => void | Promise<void>,
  ): void {
    const failed = (error: unknown): void => {
      const { cause, id } = error instanceof FailedMessage ? error : { cause: error, id: undefined };
      const failure = httpFailure(cause);
      if (failure.status === 500)
        settings.logger.error({ error: cause, method: request.method }, "a request failed");
      sendFailure(response, failure, id);
    };
    try {
      const served = serve(request, response);
      if (served instanceof Promise) served.catch(failed);
    } catch (error) {
      failed(error);
    }
  }
}

const notFoundError = (message = "there is nothing at this path"): HttpRefusal =>
  new HttpRefusal(404, "unknown_target", message);

const GET_ONLY = "GET, OPTIONS";
const POST_ONLY = "POST, OPTIONS";

function requireGetOrHead({ method }: IncomingMessage): void {
  if (method !== "GET" && method !== "HEAD") throw notAllowed("GET, HEAD");
}

function writeJson(response: ServerResponse, status: number, document: object): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(document));
}

const onlyGet = (edge: SseEdge): HttpEdge => ({
  post: () => {
    throw notAllowed(GET_ONLY);
  },
  get: (exchange) => edge.get(exchange),
  close: () => edge.close(),
});

const onlyPost = (edge: SseEdge): HttpEdge => ({
  post: (post) => edge.post(post),
  close: () => edge.close(),
});
