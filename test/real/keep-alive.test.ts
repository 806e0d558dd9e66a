/** Idle connections to the built program, behind a load balancer that keeps its own for a minute. */
import { once } from "node:events";
import { Agent, get, type IncomingMessage } from "node:http";
import { expect, onTestFinished, test } from "vitest";
import { serve } from "../support/cardea.js";
import { metGateway } from "../support/met-gateway.js";

/** What the gateway says of the connection after a request; the connection is closed when the test ends. */
async function keepAliveOf(http: object): Promise<string | undefined> {
  const gateway = await metGateway({ mcpServers: {}, listen: { http } });
  onTestFinished(async () => void (await gateway.stop()));
  const agent = new Agent({ keepAlive: true });
  onTestFinished(() => agent.destroy());
  const [response] = (await once(get(new URL("/healthz", gateway.url), { agent }), "response")) as [
    IncomingMessage,
  ];
  response.resume();
  return response.headers["keep-alive"]?.toString();
}

test.each([
  [{}, "timeout=75"],
  [{ keepAliveTimeout: "10m" }, "timeout=600"],
  [{ keepAliveTimeout: "5s" }, "timeout=5"],
])("with %j an idle connection stays open for %s s", async (http, header) => {
  expect(await keepAliveOf(http)).toBe(header);
});

test("the gateway stops at once, whatever connections are idle", async () => {
  const gateway = await serve({ mcpServers: {}, listen: { http: { keepAliveTimeout: "1h" } } });
  const agent = new Agent({ keepAlive: true });
  onTestFinished(() => agent.destroy());
  const [response] = (await once(get(new URL("/healthz", gateway.url), { agent }), "response")) as [
    IncomingMessage,
  ];
  response.resume();
  expect((await gateway.stop()).code).toBe(0);
});
