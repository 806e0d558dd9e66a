/** A channel to an API, for tests without a gateway. */
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { type Logger, SILENT } from "../../../src/core/logger.js";
import { openOpenApiChannel } from "../../../src/features/openapi/channel.js";
import type { OpenApiTransport } from "../../../src/features/openapi/transport.js";
import type { JsonObject } from "../../../src/wire/json.js";
import { folderWith } from "../../support/api.js";

export type Settings = Partial<Omit<OpenApiTransport, "kind">>;

/** Opens a channel to the API of a document in a file, and speaks to it as the gateway does. */
export async function openApi(document: object | string, settings: Settings = {}, log: Logger = SILENT) {
  const place = settings.document ?? {
    file: join(folderWith({ "api.json": document }), "api.json"),
    digest: "",
  };
  const transport = { kind: "openapi", headers: {}, ...settings, document: place } as const;
  const never = new AbortController().signal;
  const channel = await openOpenApiChannel({ name: "api", transport, connectTimeoutMs: 5_000 }, log, never);
  onTestFinished(() => channel.close());
  let id = 0;
  const request = async (method: string, params: JsonObject = {}, signal = never) => {
    const { message } = await channel.exchange({ jsonrpc: "2.0", id: ++id, method, params }, { signal });
    return message;
  };
  return {
    channel,
    request,
    tools: async () => (await request("tools/list")).result?.tools as readonly Tool[],
    call: async (name: string, args: JsonObject = {}, signal = never) =>
      ((await request("tools/call", { name, arguments: args }, signal)).result ?? {}) as JsonObject & Result,
  };
}

interface Tool extends JsonObject {
  readonly name: string;
  readonly inputSchema: { readonly properties: Readonly<Record<string, JsonObject>> } & JsonObject;
}

interface Result {
  readonly content: readonly (JsonObject & { readonly text?: string })[];
  readonly isError?: boolean;
  readonly structuredContent?: unknown;
}
