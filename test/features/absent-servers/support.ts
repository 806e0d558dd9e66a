/** A gateway with a server that is away, and what a host learns of that at each place. */
import "../../../src/features/absent-servers/feature.js";
import { onTestFinished } from "vitest";
import { readConfig } from "../../../src/config/read.js";
import { SILENT } from "../../../src/core/logger.js";
import { createGateway, type Gateway } from "../../../src/gateway/gateway.js";
import { inThisBuild } from "../../support/cardea.js";
import { CHANNELS, openedFeatures, SECTIONS } from "../../support/features.js";
import { listening } from "../../support/gateway.js";
import type { Host, Json } from "../../support/peers/host.js";
import { recordingServer } from "../../support/servers/recording-server.js";
import { freePort } from "../../support/told-port.js";

export const SERVERS_URI = "cardea://servers";

/** A server at a port where nothing listens until it comes. */
export interface AwayServer {
  readonly entry: object;
  come(): Promise<void>;
}

export async function awayServer(name: string, tools: readonly string[]): Promise<AwayServer> {
  const port = await freePort();
  return {
    entry: { type: "http", url: `http://127.0.0.1:${port}/mcp` },
    async come() {
      const { close } = await recordingServer(name, "modern", { tools, port }, () => {});
      onTestFinished(close);
    },
  };
}

/** The URL of a server that is there. */
export async function presentServer(name: string, tools: readonly string[]): Promise<object> {
  const { url, close } = await recordingServer(name, "modern", { tools }, () => {});
  onTestFinished(close);
  return { type: "http", url };
}

/** Opened when the first attempt at each server is over; entries of servers may be wrong. */
export async function opened(
  mcpServers: Readonly<Record<string, object>>,
  config: object = {},
  stateFolder?: string,
): Promise<{ readonly gateway: Gateway; readonly url: string }> {
  const listen = { http: { port: 0 }, admin: { port: 0 } };
  const text = JSON.stringify(inThisBuild({ listen, mcpServers, ...config }));
  const read = readConfig(text, "cardea.json", { env: {}, sections: SECTIONS });
  if (!read.ok) throw new Error(JSON.stringify(read.problems));
  const features = await openedFeatures(read.config, { stateFolder });
  const options = { logger: SILENT, version: "0.0.0-test", features, channels: CHANNELS };
  const gateway = createGateway(read.config, options);
  onTestFinished(() => gateway.stop({ immediate: true }));
  const { url } = await listening(gateway);
  await gateway.lists("tools");
  return { gateway, url };
}

/** A row of the resource, and of `unavailable`. */
export interface Row {
  readonly server: string;
  readonly state: string;
  readonly reason?: string;
  readonly action?: string;
}

/** What the resource says now. */
export async function rowsFor(host: Pick<Host, "request">): Promise<readonly Row[]> {
  const { result } = await host.request("resources/read", { uri: SERVERS_URI });
  const [content] = (result as { readonly contents: readonly { readonly text: string }[] }).contents;
  return (JSON.parse(content?.text ?? "") as { readonly servers: readonly Row[] }).servers;
}

/** What a search answers. */
export async function search(host: Pick<Host, "request">, query: string, server?: string): Promise<Json> {
  const named = server === undefined ? {} : { server };
  const { result } = await host.request("tools/call", {
    name: "find_tools",
    arguments: { query, ...named },
  });
  return (result as { readonly structuredContent: Json }).structuredContent;
}

export const call = (host: Pick<Host, "request">, name: string) =>
  host.request("tools/call", { name, arguments: {} });

export const instructionsOf = (host: Pick<Host, "introduction">): string =>
  host.introduction().instructions ?? "";
