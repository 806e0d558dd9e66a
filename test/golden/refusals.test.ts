/** What hosts of both eras receive for each refusal: word, code, HTTP status, members and sentence. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { ERRORS, type ErrorCode, GatewayError, refusalReply } from "../../src/core/errors.js";
import { SILENT } from "../../src/core/logger.js";
import { createGateway } from "../../src/gateway/gateway.js";
import { documentOf, folderWith } from "../support/api.js";
import { fakeCall, unroutedCall } from "../support/fake-call.js";
import { CHANNELS, openedFeatures } from "../support/features.js";
import { configOf } from "../support/gateway.js";
import type { Json } from "../support/host/wires.mjs";
import { httpWire } from "../support/host/wires.mjs";
import { modernRequest, type Sent, send } from "../support/http-host.js";
import { openLegacy, openModern, type RawHost } from "../support/peers/raw.js";
import { ADA, openWorld, stable, type World } from "./world.js";

const NO_HOST_ID: Sent = { headers: { ...modernRequest("tools/list").headers }, body: "" };
const JSON_RPC = { jsonrpc: "2.0", id: 1 };

/** Requests over HTTP that reach no server. */
const REQUESTS: Readonly<Record<string, (world: World) => Sent & { readonly path?: string }>> = {
  "no key": () => modernRequest("tools/list"),
  "an unknown key": () => modernRequest("tools/list", {}, { headers: { authorization: "Bearer wrong" } }),
  "a foreign origin": () =>
    modernRequest("tools/list", {}, { headers: { ...ADA, origin: "https://evil.example" } }),
  "a foreign host": () => modernRequest("tools/list", {}, { headers: { ...ADA, host: "evil.example" } }),
  "an unknown profile": () => ({ ...modernRequest("tools/list", {}, { headers: ADA }), path: "/mcp/nobody" }),
  "a misconfigured server": () => ({
    ...modernRequest("tools/call", { name: "x", arguments: {} }, { headers: ADA }),
    path: "/mcp/wrong",
  }),
  "an unknown path": () => ({ ...modernRequest("tools/list", {}, { headers: ADA }), path: "/other" }),
  "no JSON": () => ({ ...modernRequest("tools/list", {}, { headers: ADA }), body: "{" }),
  "no request": () => ({ ...modernRequest("tools/list", {}, { headers: ADA }), body: '{"jsonrpc":"2.0"}' }),
  "a batch": () => ({ ...modernRequest("tools/list", {}, { headers: ADA }), body: "[]" }),
  "a body that is too large": () =>
    modernRequest("tools/call", { name: "x", arguments: { text: "x".repeat(70_000) } }, { headers: ADA }),
  "no JSON content type": () =>
    modernRequest("tools/list", {}, { headers: { ...ADA, "content-type": "text/plain" } }),
  "a header of another method": () =>
    modernRequest("tools/list", {}, { headers: { ...ADA, "mcp-method": "tools/call" } }),
  "an unknown revision": () =>
    modernRequest(
      "tools/list",
      {},
      {
        headers: { ...ADA, "mcp-protocol-version": "2099-01-01" },
        meta: { "io.modelcontextprotocol/protocolVersion": "2099-01-01" },
      },
    ),
  "no capabilities": () =>
    modernRequest(
      "tools/list",
      {},
      { headers: ADA, meta: { "io.modelcontextprotocol/clientCapabilities": 1 } },
    ),
  "a legacy request without a session": () => ({
    headers: { ...NO_HOST_ID.headers, ...ADA, "mcp-protocol-version": "2025-11-25" },
    body: JSON.stringify({ ...JSON_RPC, method: "tools/list" }),
  }),
  "a legacy request of an unknown session": () => ({
    headers: {
      ...NO_HOST_ID.headers,
      ...ADA,
      "mcp-protocol-version": "2025-11-25",
      "mcp-session-id": "gone",
    },
    body: JSON.stringify({ ...JSON_RPC, method: "tools/list" }),
  }),
  "an unsupported HTTP method": () => ({ method: "PUT", headers: ADA }),
};

const tool = (name: string, args: unknown = {}): readonly [string, Json] => [
  "tools/call",
  { name, arguments: args },
];

/** Requests of a host. */
const CALLS: Readonly<Record<string, readonly [method: string, params: Json]>> = {
  "an unknown tool": tool("legacy-http__nothing"),
  "an unknown prompt": ["prompts/get", { name: "nothing" }],
  "an unknown resource": ["resources/read", { uri: "x://nothing" }],
  "an unknown method": ["x-vendor/method", {}],
  "an unknown task": ["tasks/get", { taskId: "nothing" }],
  "no name": ["tools/call", {}],
  "no URI": ["resources/read", {}],
  "no reference": ["completion/complete", { argument: { name: "a", value: "b" } }],
  "arguments that are no object": tool("legacy-http__echo", "text"),
  "a cursor of nobody": ["tools/list", { cursor: "forged" }],
  "a tool that a rule denies": tool("legacy-stdio__echo", { text: "a" }),
  "a hidden tool": tool("legacy-http__form"),
  "a tool that needs approval, which the host cannot give": tool("modern-stdio__echo", { text: "a" }),
  "a tool that is called too often": tool("modern-http__echo", { text: "a" }),
  "arguments that do not match the schema": tool("slow__close", { id: 1, more: true }),
  "a result that is too large": tool("slow__large"),
  "a server that never answers": tool("slow__wait"),
  "a server that ends the connection": tool("slow__close"),
  "a server that rejects the request": tool("slow__reject"),
  "a state that the gateway has not sealed": [
    "tools/call",
    { name: "legacy-http__echo", arguments: { text: "a" }, inputResponses: {}, requestState: "forged" },
  ],
};

const PATHS = Object.fromEntries(
  ["wait", "close", "reject", "large"].map((name) => [
    `/${name}`,
    { get: { operationId: name, responses: { 200: { description: "Text." } } } },
  ]),
);

function misbehave({ url = "" }: IncomingMessage, response: ServerResponse, onWait: () => void): void {
  if (url === "/wait") onWait();
  if (url === "/close") response.destroy();
  if (url === "/reject") response.writeHead(403, { "content-type": "text/plain" }).end("not you");
  if (url === "/large") response.writeHead(200, { "content-type": "text/plain" }).end("x".repeat(2000));
}

/** An API that does not answer, ends its connections, and refuses; `onWait` is called where it does not answer. */
async function slowApi(onWait: () => void): Promise<object> {
  const server = createServer((request, response) => misbehave(request, response, onWait));
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const folder = folderWith({ "api.json": documentOf(PATHS) });
  return {
    ...{ type: "openapi", spec: `${folder}/api.json`, timeout: "5m" },
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    checks: { arguments: true, maxResultBytes: 1000 },
  };
}

/** A promise, and what resolves it. */
function signal(): readonly [Promise<void>, () => void] {
  let resolve = (): void => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return [promise, () => resolve()];
}

/** How long a call took depends on the machine. */
const line = (name: string, status: number, message: unknown): string =>
  `${name}\n  ${status} ${JSON.stringify(stable(message)).replace(/in time \([\d.]+ s\)/g, "in time (<seconds> s)")}\n`;

const bodyOf = (text: string): unknown =>
  text.startsWith("{") || text.startsWith("[") ? (JSON.parse(text) as unknown) : text;

test("requests that no edge accepts are refused like this", async () => {
  const world = await openWorld();
  const found: string[] = [];
  for (const [name, make] of Object.entries(REQUESTS)) {
    const { path = "/mcp", ...sent } = make(world);
    const { status, text } = await send(new URL(path, world.url).href, sent);
    found.push(line(name, status, bodyOf(text)));
  }
  await expect(found.join("\n")).toMatchFileSnapshot("refused-requests.txt");
});

test("calls of hosts of both eras are refused like this", async () => {
  const world = await openWorld({
    servers: { slow: await slowApi(() => {}) },
    limits: [{ name: "soon", tools: ["slow__wait"], timeout: "100ms" }],
  });
  const legacy = await openLegacy(httpWire(world.url, ADA));
  const modern = await openModern(httpWire(world.url, ADA));
  await modern.call("modern-http__echo", { text: "the only one of this hour" });
  const found: string[] = [];
  const note = async (name: string, host: RawHost, [method, params]: readonly [string, Json]) => {
    const { status, message, text } = await host.exchange(method, params);
    const { id: _, jsonrpc: __, ...said } = message ?? { text: bodyOf(text) };
    found.push(line(`${name} (${host.era})`, status, said));
  };
  for (const [name, call] of Object.entries(CALLS)) {
    for (const host of [legacy, modern]) await note(name, host, call);
  }
  await expect(found.join("\n")).toMatchFileSnapshot("refused-calls.txt");
});

test("what a person declines, what cannot wait and what a stop ends is refused like this", async () => {
  const [waits, onWait] = signal();
  const world = await openWorld({
    servers: { slow: await slowApi(onWait) },
    limits: [{ name: "one", tools: ["slow__wait"], concurrency: 1, queue: 0 }],
  });
  const capabilities = { elicitation: { form: {} } };
  const hosts = [
    await openLegacy(httpWire(world.url, ADA), { capabilities }),
    await openModern(httpWire(world.url, ADA), { capabilities }),
  ];
  const found: string[] = [];
  const note = (name: string, { era }: RawHost, { id: _, jsonrpc: __, ...said }: Json): void =>
    void found.push(line(`${name} (${era})`, 200, said));
  for (const host of hosts) {
    const params = { name: "modern-stdio__echo", arguments: { text: "a" } };
    const { response } = await host.converse("tools/call", params, () => ({ action: "decline" }));
    note("a call that the person declines", host, response);
  }
  const [legacy] = hosts;
  if (legacy === undefined) throw new Error("there is a legacy host");
  const params = { name: "slow__wait", arguments: {} };
  const ending = legacy.exchange("tools/call", params);
  await waits;
  for (const host of hosts) {
    note(
      "a call for which there is no room",
      host,
      (await host.exchange("tools/call", params)).message ?? {},
    );
  }
  await world.gateway.stop({ immediate: true });
  note("a call that the stop ends", legacy, (await ending).message ?? {});
  await expect(found.join("\n")).toMatchFileSnapshot("refused-later.txt");
});

test("without the audit log that is required, each call is refused like this", async () => {
  const config = configOf({ mcpServers: {}, audit: { file: "/dev/null/audit.jsonl", required: true } });
  const options = { logger: SILENT, version: "0.0.0-test", redact: (text: string) => text };
  const features = await openedFeatures(config, options);
  const gateway = createGateway(config, { ...options, features, channels: CHANNELS });
  const { url } = await gateway.start();
  onTestFinished(() => gateway.stop({ immediate: true }));
  const { status, text } = await send(url, modernRequest("tools/list"));
  await expect(line("a call", status, bodyOf(text))).toMatchFileSnapshot("refused-without-audit.txt");
});

test("each word has this code, this status, and these two shapes", async () => {
  const route = { upstream: "s", target: "t", exposed: "s__t", kind: "tools" } as const;
  const rows = (Object.keys(ERRORS) as ErrorCode[]).flatMap((code) =>
    [{}, { retryable: true }, { retryable: true, retryAfterMs: 1500, rule: "r", server: "s" }].map(
      (options) => {
        const error = new GatewayError(code, "gateway", "this is refused", options);
        const shapes = [fakeCall({ route }), unroutedCall("resources/read")].map((call) => {
          const reply = refusalReply(error, call);
          return JSON.stringify(reply.kind === "result" ? reply.result.object : reply);
        });
        return `${code} ${JSON.stringify(ERRORS[code])} ${JSON.stringify(options)}\n  ${shapes.join("\n  ")}\n`;
      },
    ),
  );
  await expect(rows.join("\n")).toMatchFileSnapshot("refusal-words.txt");
});
