/** A server of one era whose lists, answers and changes are those of the tenant in the header `x-tenant`. */
import { onTestFinished } from "vitest";
import { type Arrived, serveHttp } from "../server/http.mjs";

interface Message {
  readonly id?: unknown;
  readonly method?: string;
  readonly params?: { readonly name?: string; readonly notifications?: object; readonly _meta?: object };
}

type Say = (message: object) => void;

export interface TenantServer {
  readonly url: string;
  /** Each message: its method, and its headers. */
  readonly asked: readonly { readonly method: string; readonly headers: Arrived["headers"] }[];
  /** The tenant's tools change: its list has one more, and those who follow it are notified. */
  change(tenant: string): void;
  /** What a request of that tenant is refused with, at the HTTP level: requests without a tenant, for example. */
  refused: (tenant: string) => number | undefined;
}

const SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId";

/** Closed when the test is over. */
export async function tenantServer(era: "legacy" | "modern", ttlMs = 60_000): Promise<TenantServer> {
  const asked: { method: string; headers: Arrived["headers"] }[] = [];
  const versions = new Map<string, number>();
  const followers = new Map<string, Set<() => void>>();
  const follow = (tenant: string, say: () => void): void => {
    followers.set(tenant, (followers.get(tenant) ?? new Set()).add(say));
  };
  const tenantOf = ({ headers }: Arrived): string => String(headers["x-tenant"] ?? "nobody");
  const isModern = era === "modern";
  const info = {
    serverInfo: { name: "tenants", version: "1" },
    capabilities: { tools: { listChanged: true }, resources: {} },
  };

  function resultOf({ id, method, params }: Message, tenant: string, say: Say, arrived: Arrived) {
    switch (method ?? "") {
      case "server/discover":
        return isModern ? { supportedVersions: ["2026-07-28"], ...info } : undefined;
      case "initialize": {
        const { session } = arrived;
        follow(tenant, () => session?.say({ method: "notifications/tools/list_changed" }));
        return isModern ? undefined : { protocolVersion: "2025-11-25", ...info };
      }
      case "subscriptions/listen": {
        const _meta = { [SUBSCRIPTION]: id };
        follow(tenant, () => say({ method: "notifications/tools/list_changed", params: { _meta } }));
        const { notifications } = params ?? {};
        say({ method: "notifications/subscriptions/acknowledged", params: { _meta, notifications } });
        return undefined;
      }
      case "tools/list": {
        const names = [
          `of-${tenant}`,
          ...Array.from({ length: versions.get(tenant) ?? 0 }, (_, at) => `new-${at}`),
        ];
        const tools = ["whoami", ...names].map((name) => ({
          ...{ name, inputSchema: { type: "object" }, annotations: { readOnlyHint: true } },
        }));
        return { tools };
      }
      case "resources/list":
        return { resources: [{ uri: "note:one", name: "one" }] };
      case "resources/read":
        return {
          contents: [{ uri: "note:one", text: tenant }],
          ...(isModern && { ttlMs, cacheScope: "public" }),
        };
      case "tools/call": {
        const count = asked.filter((one) => one.method === "tools/call").length;
        return {
          content: [{ type: "text", text: `${tenant} ${count}` }],
          ...(isModern && { ttlMs, cacheScope: "public" }),
        };
      }
      default:
        return method === "ping" ? {} : undefined;
    }
  }

  const server = await serveHttp(
    (message: Message, say: Say, arrived: Arrived) => {
      const { id, method } = message;
      asked.push({ method: method ?? "", headers: arrived.headers });
      if (id === undefined) return undefined;
      const result = resultOf(message, tenantOf(arrived), say, arrived);
      if (method === "subscriptions/listen" && isModern) return undefined;
      return result === undefined
        ? { jsonrpc: "2.0", id, error: { code: -32601, message: "unknown method" } }
        : { jsonrpc: "2.0", id, result: { ...(isModern && { resultType: "complete" }), ...result } };
    },
    {
      sessions: !isModern,
      intercept: (request, response) => {
        const status = own.refused(String(request.headers["x-tenant"] ?? "nobody"));
        if (status === undefined) return false;
        response.writeHead(status).end();
        return true;
      },
    },
  );
  onTestFinished(() => server.stop());
  const own: TenantServer = {
    url: server.url,
    asked,
    change(tenant) {
      versions.set(tenant, (versions.get(tenant) ?? 0) + 1);
      for (const say of followers.get(tenant) ?? []) say();
    },
    refused: () => undefined,
  };
  return own;
}
