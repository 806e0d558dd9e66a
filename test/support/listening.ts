/** A real listener on a free port in front of a fake gateway; everything opened is closed after the test. */
import { onTestFinished } from "vitest";
import type { ListenConfig } from "../../src/config/config.js";
import type { HttpEdge } from "../../src/downstream/edge.js";
import { createHttpListener, type HttpListenerOptions } from "../../src/downstream/http-listener.js";
import { createModernEdge, type ModernEdgeOptions } from "../../src/downstream/modern/edge.js";
import { type FakePort, fakePort } from "./fake-port.js";

const LOOPBACK: ListenConfig["http"] = {
  host: "127.0.0.1",
  port: 0,
  path: "/mcp",
  allowedHosts: [],
  allowedOrigins: [],
  maxBodyBytes: 4_194_304,
  keepAliveMs: 75_000,
  legacySse: false,
  insecure: false,
};

/** Says which method of the edge was called, and with what; stands where an era is not the subject. */
export function recordingEdge(): Required<HttpEdge> & { readonly seen: string[] } {
  const seen: string[] = [];
  return {
    seen,
    post: ({ response, message }) => {
      seen.push(`post ${JSON.stringify(message)}`);
      response.writeHead(200, { "content-type": "application/json" }).end('{"edge":"recorded"}');
    },
    get: ({ response, endpoint }) => {
      seen.push(`get ${endpoint}`);
      response.writeHead(200).end();
    },
    delete: ({ response, endpoint }) => {
      seen.push(`delete ${endpoint}`);
      response.writeHead(204).end();
    },
    close: async () => {},
  };
}

export type ListeningOptions = Partial<Omit<HttpListenerOptions, "listen">> & {
  readonly listen?: Partial<ListenConfig["http"]>;
  readonly edge?: Partial<ModernEdgeOptions>;
};

/** Starts a listener with the modern edge over `port`, and `legacy` or a recording edge beside it. */
export async function listening(options: ListeningOptions = {}) {
  const gateway = (options.gateway as FakePort | undefined) ?? fakePort();
  const legacy = recordingEdge();
  const modern = createModernEdge({
    gateway,
    gatewayInfo: { name: "cardea", version: "0.0.0-test" },
    ...options.edge,
  });
  const listener = createHttpListener({
    modern,
    legacy,
    readiness: () => ({ ready: true, reasons: [] }),
    ...options,
    gateway,
    listen: { ...LOOPBACK, ...options.listen },
  });
  const bound = await listener.start();
  onTestFinished(() => listener.stop(0));
  return { ...bound, listener, legacy, modern, origin: `http://127.0.0.1:${bound.port}` };
}
