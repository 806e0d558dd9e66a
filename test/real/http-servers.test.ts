/** A real server of SDK 1 over its HTTP transports, old and new, beside itself on a pipe. */
import { expect, test } from "vitest";
import { inRepository } from "../support/cardea.js";
import { metGateway } from "../support/met-gateway.js";
import type { Host } from "../support/peers/host.js";
import { openModern, RAW_MODERN } from "../support/peers/raw.js";
import { SDK_1 } from "../support/peers/sdk.js";
import { sample } from "../support/sample.js";
import { startWithPort } from "../support/told-port.js";
import {
  exposeItem,
  exposeOutcome,
  exposeUse,
  prefixed,
  steady,
  withoutModernFrame,
  withoutTasks,
} from "./exposure.js";
import { realServers } from "./servers.js";

const MAIN = inRepository("node_modules/@modelcontextprotocol/server-everything/dist/index.js");
const EVERYTHING = realServers("/")[0];

const TRANSPORTS = [
  { name: "Streamable HTTP", mode: "streamableHttp", type: "http", path: "/mcp" },
  { name: "HTTP+SSE", mode: "sse", type: "sse", path: "/sse" },
] as const;

const DRAWN = sample(
  "everything over HTTP",
  TRANSPORTS.flatMap((transport) =>
    [SDK_1, RAW_MODERN].map((kind) => [transport.name, kind.name, transport, kind] as const),
  ),
  1,
);

test.concurrent.each(DRAWN)(
  "server-everything over %s answers a host built with %s as it does over stdio",
  async (_over, _name, { mode, type, path }, kind) => {
    if (EVERYTHING === undefined) throw new Error("no such server");
    const [{ server, port }, pipe] = await Promise.all([
      startWithPort(process.execPath, [MAIN, mode], /(listening|running) on port/i),
      SDK_1.connect(EVERYTHING.place),
    ]);
    const url = `http://127.0.0.1:${port}${path}`;
    const gateway = await metGateway({ mcpServers: { everything: { type, url } } });
    const host = await kind.connect({ url: gateway.url });
    try {
      await compare(host, pipe, kind.era === "modern");
    } finally {
      await host.close();
      await pipe.close();
      await gateway.stop();
      await server.stop();
    }
  },
);

test.concurrent("a call that is safe to repeat, to a server that has ended, is upstream_unavailable: the server has nothing of it", async () => {
  const { server, port } = await startWithPort(
    process.execPath,
    [MAIN, "streamableHttp"],
    /listening on port/i,
  );
  const gateway = await metGateway({
    mcpServers: { everything: { type: "http", url: `http://127.0.0.1:${port}/mcp` } },
  });
  const host = await openModern({ url: gateway.url });
  const echo = () => host.send("1", "tools/call", { name: "everything__echo", arguments: { message: "x" } });
  expect(await echo()).toMatchObject({ result: { content: [{ text: "Echo: x" }] } });
  await server.stop();
  expect(await echo()).toMatchObject({
    result: { isError: true, _meta: { "cardea/refusal": { code: "upstream_unavailable", retryable: true } } },
  });
  await host.close();
  await gateway.stop();
});

async function compare(host: Host, pipe: Host, modern: boolean): Promise<void> {
  const exposure = prefixed("everything");
  for (const list of ["tools", "prompts", "resources", "resourceTemplates"] as const) {
    const expected = (await pipe.list(list)).map((item) => withoutTasks(exposeItem(list, item, exposure)));
    const ofServers = (await host.list(list)).filter(({ uri }) => uri !== "cardea://servers");
    expect(ofServers.map(withoutTasks), list).toEqual(expected);
  }
  // What toggles something for a session is the other test's subject.
  const uses = (EVERYTHING?.uses ?? []).filter(({ params }) => !/toggle/.test(String(params.name)));
  for (const use of uses) {
    const got = await host.request(use.method, exposeUse(use, exposure).params);
    const direct = exposeOutcome(use, await pipe.request(use.method, use.params), exposure);
    const what = `${use.method} ${JSON.stringify(use.params).slice(0, 100)}`;
    expect(steady(use, modern ? withoutModernFrame(got) : got), what).toEqual(steady(use, direct));
  }
}
