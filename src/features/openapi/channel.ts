/**
 * How are messages exchanged with an HTTP API? The channel answers MCP requests itself: lists from the OpenAPI document,
 * calls by a request to the API.
 */
import { GatewayError } from "../../core/errors.js";
import type { Logger } from "../../core/logger.js";
import type { StopSignal } from "../../core/stop.js";
import { contextOf, readContext } from "../../core/trace-context.js";
import type { AnswerMisfit } from "../../core/upstream.js";
import { publicLookup } from "../../http/public-addresses.js";
import { cooperativeYield, runSteps } from "../../runtime/cooperative-yield.js";
import type { Channel, ChannelResponse, ExchangeOptions, Headers } from "../../upstream/transport/channel.js";
import { HttpPool } from "../../upstream/transport/http-pool.js";
import { HttpTarget } from "../../upstream/transport/http-target.js";
import { invalidResponse } from "../../upstream/transport/invalid-response.js";
import { type Envelope, PrototypeMemberError, RESULT_TEXT, type Request } from "../../wire/envelope.js";
import { type JsonObject, objectAt, stringAt } from "../../wire/json.js";
import { CODE, META, MODERN_REVISION } from "../../wire/names.js";
import { exchangeWithApi } from "./api-exchange.js";
import { UnusableArgument } from "./given-values.js";
import { type ApiSource, loadApi } from "./load-api.js";
import type { ApiDescription, Operation } from "./operation.js";
import { withOwnNames } from "./own-names.js";
import { readAnswer } from "./read-answer.js";
import { Routes } from "./routes.js";
import { largeResultText } from "./write-answer.js";
import { type ApiAddress, writeApiRequest } from "./write-request.js";

/**
 * Loads the document and opens a channel to its API; sends nothing to the API.
 *
 * @throws GatewayError `upstream_unavailable` when the document cannot be loaded, `cancelled`
 */
export async function openOpenApiChannel(
  source: ApiSource,
  log: Logger,
  signal: StopSignal,
): Promise<Channel> {
  const { name: server, known } = source;
  if (known !== undefined) return new OpenApiChannel(source, known);
  const api = await loadApi(source, signal);
  source.onLoaded?.(api);
  for (const warning of api.warnings) log.warn({ server }, warning);
  if (api.operations.length === 0)
    log.warn({ server }, "no operation of its OpenAPI document is a tool; see include and exclude");
  // The maps of 20,000 operations take 25 ms, and their list as long.
  await cooperativeYield();
  const channel = new OpenApiChannel(source, api);
  await cooperativeYield();
  return channel;
}

type Outcome = Pick<Envelope, "result" | "error" | typeof RESULT_TEXT>;

/** What the document says changes with a new connection only. */
const LIST_TTL_MS = 60_000;

class OpenApiChannel implements Channel {
  readonly association = "stream";
  readonly closed: Promise<GatewayError>;
  readonly #target: HttpTarget;
  readonly #pool: HttpPool;
  readonly #address: ApiAddress;
  readonly #facts: JsonObject;
  readonly #tools: readonly JsonObject[];
  readonly #operations: ReadonlyMap<string, Operation>;
  readonly #onMisfit: (misfit: AnswerMisfit) => void;
  #settleClosed!: (reason: GatewayError) => void;

  constructor(source: ApiSource, api: ApiDescription) {
    const { name, transport, connectTimeoutMs, credentials, redact, onMisfit = () => {} } = source;
    this.#onMisfit = onMisfit;
    const { pathname, search, searchParams } = new URL(api.baseUrl);
    this.#pool = new HttpPool({
      url: api.baseUrl,
      connectTimeoutMs,
      network: transport.network,
      ...(api.mustBePublic && { lookup: publicLookup() }),
    });
    this.#target = new HttpTarget(
      { name, url: api.baseUrl, headers: transport.headers, connectTimeoutMs, credentials, redact },
      this.#pool,
    );
    this.#address = {
      path: pathname.replace(/\/+$/, ""),
      query: search,
      queryNames: [...searchParams.keys()],
      headers: this.#target.headers,
      routes: new Routes(api.routes),
    };
    this.#operations = new Map(
      api.operations.map((operation) => [stringAt(operation.tool, "name") ?? "", operation]),
    );
    this.#tools = api.operations.map(({ tool }) => tool);
    this.#facts = { name: api.title || name, version: api.version || "0" };
    this.closed = new Promise((resolve) => {
      this.#settleClosed = resolve;
    });
  }

  async exchange({ id, method, params }: Request, options: ExchangeOptions = {}): Promise<ChannelResponse> {
    const answer = await this.#answer(method, params ?? {}, options.signal);
    const message: Envelope = { jsonrpc: "2.0", id, ...answer };
    return { message, status: 200, header: () => undefined };
  }

  /** Notifications mean nothing to an HTTP API. */
  async post(): Promise<void> {}

  listen(): { readonly opened: Promise<boolean>; stop(): void } {
    return { opened: Promise.resolve(false), stop: () => {} };
  }

  async close(): Promise<void> {
    const { name: server } = this.#target;
    const what = `the connection to ${server} was closed by the gateway`;
    this.#settleClosed(
      new GatewayError("upstream_closed", "upstream", what, { server, retryable: true, supervised: true }),
    );
    await this.#pool.destroy();
  }

  async #answer(method: string, params: JsonObject, signal: StopSignal | undefined): Promise<Outcome> {
    switch (method) {
      case "server/discover":
        return {
          result: complete({
            supportedVersions: [MODERN_REVISION],
            capabilities: { tools: {} },
            _meta: { [META.serverInfo]: this.#facts },
          }),
        };
      case "tools/list":
        return { result: complete({ tools: this.#tools, ttlMs: LIST_TTL_MS, cacheScope: "public" }) };
      case "tools/call":
        return this.#call(params, signal);
      default:
        return { error: { code: CODE.methodNotFound, message: `an HTTP API knows no ${method}` } };
    }
  }

  async #call(params: JsonObject, signal: StopSignal | undefined): Promise<Outcome> {
    const name = stringAt(params, "name") ?? "";
    const operation = this.#operations.get(name);
    if (operation === undefined)
      return { error: { code: CODE.invalidParams, message: `unknown tool: ${name}` } };
    try {
      const given = withOwnNames(operation, objectAt(params, "arguments") ?? {});
      const written = writeApiRequest(operation, given, this.#address);
      const request = { ...written, headers: { ...traceHeaders(params), ...written.headers } };
      const answer = await exchangeWithApi(this.#target, request, signal);
      const { origin } = this.#target.url;
      // The query of the base URL, which may hold a key, is the operator's.
      const shown = `${origin}${request.path.replace(this.#address.query || "\0", "")}`;
      const { result, misfit } = await readAnswer(operation, answer, shown);
      if (misfit !== undefined) this.#onMisfit({ tool: name, reason: misfit });
      const text = await runSteps(largeResultText(result));
      return { result: complete(result), ...(text !== undefined && { [RESULT_TEXT]: text }) };
    } catch (error) {
      if (error instanceof PrototypeMemberError) throw invalidResponse(this.#target.name, error);
      if (!(error instanceof UnusableArgument)) throw error;
      const words = `${name} was not called: ${error.message}`;
      return { result: complete({ content: [{ type: "text", text: words }], isError: true }) };
    }
  }
}

/** An API reads the trace context in headers (W3C Trace Context). */
function traceHeaders(params: JsonObject): Headers {
  const { traceparent, tracestate } = objectAt(params, "_meta") ?? {};
  const span = readContext(traceparent, tracestate);
  if (span === undefined) return {};
  const context = contextOf(span);
  return {
    traceparent: context.traceparent,
    ...(context.tracestate !== undefined && { tracestate: context.tracestate }),
  };
}

const complete = (result: JsonObject): JsonObject => ({ resultType: "complete", ...result });
