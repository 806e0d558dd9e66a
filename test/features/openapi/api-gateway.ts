/** A gateway in front of a real HTTP API that an OpenAPI document describes, for tests of what hosts list and call. */
import { onTestFinished } from "vitest";
import type { JsonObject } from "../../../src/wire/json.js";
import { type Answer, type Asked, documentOf, folderWith, startApi } from "../../support/api.js";
import { gatewayOf, listening } from "../../support/gateway.js";

interface ApiGatewaySettings {
  /** Keys of the server `api` beside its document and address. */
  readonly server?: object;
  /** Top-level keys of the config. */
  readonly config?: object;
  readonly answer?: (asked: Asked) => Answer;
  /** Members of the document beside its paths. */
  readonly document?: object;
}

/** The gateway, and what the API was asked. */
export async function apiGateway(paths: object, settings: ApiGatewaySettings = {}) {
  const { server = {}, config = {}, answer, document } = settings;
  const api = await startApi(answer ?? (() => ({ headers: { "content-type": "text/plain" }, body: "done" })));
  const folder = folderWith({ "api.json": documentOf(paths, document) });
  const gateway = await gatewayOf({
    ...config,
    mcpServers: { api: { type: "openapi", spec: `${folder}/api.json`, baseUrl: api.url, ...server } },
  });
  const { url, adminUrl } = await listening(gateway);
  onTestFinished(() => gateway.stop({ immediate: true }));
  const entries = await gateway.lists("tools");
  const tools = new Map(entries.map(({ item }) => [String(item.name), item as JsonObject & Listed]));
  const call = async (name: string, args: JsonObject) => {
    const reply = await gateway.call(name, args);
    return (reply.kind === "result" ? reply.result.object : { error: reply }) as JsonObject & Result;
  };
  return { gateway, url, adminUrl, asked: api.asked, tools, call };
}

interface Listed {
  readonly inputSchema: { readonly properties: Readonly<Record<string, JsonObject>> } & JsonObject;
  readonly outputSchema?: JsonObject;
}

interface Result {
  readonly content: readonly (JsonObject & { readonly text?: string })[];
  readonly isError?: boolean;
  readonly structuredContent?: unknown;
}
