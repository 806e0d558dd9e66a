/** F18: the system clock is set an hour forward, and an hour back. */
import { createServer } from "node:http";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { Host, newAgent, openHost, refusalOf, textOf } from "../test/support/host/host.mjs";
import { startGateway } from "./support/gateway.mjs";
import { ms, pause, row, until } from "./support/row.mjs";
import { httpServer, stdioServer } from "./support/servers.mjs";
import { httpUpstream } from "./upstreams/http.mjs";

const HOUR = 3_600_000;

await row(
  "F18",
  "the clock jumps by an hour, forward and back: limits, TTLs and backoff are unaffected",
  async (row) => {
    const web = row.own(await httpUpstream({ era: "modern" }));
    let reads = 0;
    web.intercept = (_request, response, message) => {
      if (message.method !== "resources/read") return false;
      reads += 1;
      const result = {
        resultType: "complete",
        contents: [{ uri: message.params.uri, text: `${reads}` }],
        ttlMs: 8_000,
        cacheScope: "public",
      };
      response
        .writeHead(200, { "content-type": "application/json" })
        .end(JSON.stringify({ jsonrpc: "2.0", id: message.id, result }));
      return true;
    };
    const issuer = row.own(await tokenIssuer());
    const gateway = row.own(
      await startGateway(
        {
          auth: {
            resource: "http://127.0.0.1/mcp",
            jwt: { issuer: issuer.url, audience: ["us"], jwksUri: `${issuer.url}/jwks` },
          },
          mcpServers: { web: httpServer(web), dead: stdioServer(["--at-start", "die"]) },
          limits: [
            { name: "quota", tools: ["web__echo"], quota: "3/min" },
            { name: "rate", tools: ["web__look"], rate: "2/min" },
          ],
        },
        { probe: true },
      ),
    );
    await gateway.met("web");
    const agent = newAgent();
    const started = Date.now();
    const bearer = async (secondsFromNow) => ({
      authorization: `Bearer ${await issuer.token(started / 1000 + secondsFromNow)}`,
    });
    const host = await openHost(gateway.url, "modern", { agent, headers: await bearer(3 * 3600) });
    const word = async (name) => {
      const { message } = await host.call(name, { text: "x" });
      return { said: refusalOf(message)?.code ?? textOf(message), after: refusalOf(message)?.retryAfterMs };
    };

    const begun = performance.now();
    const first = [];
    for (let n = 0; n < 4; n += 1) first.push((await word("web__echo")).said);
    for (let n = 0; n < 3; n += 1) first.push((await word("web__look")).said);
    row.check(
      "three of a quota, two of a rate",
      "x,x,x,rate_limited,x,x,rate_limited",
      first.join(),
      first.join() === "x,x,x,rate_limited,x,x,rate_limited",
    );
    const text = async () =>
      (await host.exchange("resources/read", { uri: "web+test://text" })).message.result?.contents[0].text;
    await text();
    const keptAt = performance.now();

    for (const [where, moved] of [
      ["an hour later", HOUR],
      ["an hour earlier", -HOUR],
    ]) {
      await gateway.ask("clock", { ms: moved });
      const told = [await word("web__echo"), await word("web__look")];
      const passed = performance.now() - begun;
      const inTime = ({ said, after }, most) =>
        said === "rate_limited" && after <= most && after >= most - passed - 200;
      row.check(
        `${where}: remaining wait`,
        `a minute and half a minute, less ${ms(passed)} at most`,
        told.map(({ said, after }) => `${said} ${after} ms`).join(", "),
        inTime(told[0], 60_000) && inTime(told[1], 30_000),
      );
      const kept = await text();
      row.check(
        `${where}: a reply with ttlMs 8 s`,
        "is kept",
        `asked ${reads} time`,
        reads === 1 && kept === "1",
      );
      const { status } = await gateway.get("/readyz");
      row.check(`${where}: /readyz`, 200, status, status === 200);
    }
    await gateway.ask("clock", { ms: 0 });
    await pause(Math.max(0, keptAt + 8_100 - performance.now()));
    await text();
    row.check("the reply after its TTL", "asked again", `asked ${reads} times`, reads === 2);

    // The attempts of a server that never comes up: each twice as long after the one before, whatever the clock says.
    const restarts = () => gateway.metric("cardea_upstream_restarts_total", { server: "dead" });
    const next = async () => {
      const count = await restarts();
      await until("the next attempt", async () => (await restarts()) > count, 70_000, 20);
      return performance.now();
    };
    const from = await next();
    await gateway.ask("clock", { ms: HOUR });
    const then = await next();
    await gateway.ask("clock", { ms: -HOUR });
    const [one, two] = [then - from, row.quick ? 0 : (await next()) - then];
    const fits = row.quick || (two / one > 1.2 && two / one < 3.2);
    row.timing(
      "waits before the next attempts",
      "each about twice the one before",
      row.quick ? ms(one) : `${ms(one)}, ${ms(two)}`,
      one > 1_500 && fits,
    );
    await gateway.ask("clock", { ms: 0 });

    // Tokens are dated by the clock that people set, with a minute's patience.
    const status = async (headers) => {
      const reply = await new Host(gateway.url, "modern", { agent, headers }).exchange("tools/list");
      return reply.status;
    };
    const now = (Date.now() - started) / 1000;
    const old = await Promise.all(
      [now - 30, now - 120, now + 600].map(async (seconds) => status(await bearer(seconds))),
    );
    row.check(
      "tokens that expired 30 s ago, 2 min ago, and expire in 10 min",
      "200, 401, 200",
      old.join(", "),
      old.join() === "200,401,200",
    );
    await gateway.ask("clock", { ms: HOUR });
    const late = await Promise.all(
      [now + 600, now + HOUR / 1000 - 30, now + HOUR / 1000 + 60].map(async (seconds) =>
        status(await bearer(seconds)),
      ),
    );
    row.check(
      "an hour later: tokens that expire in 10 min, in 59.5 min, in 61 min",
      "401, 200, 200",
      late.join(", "),
      late.join() === "401,200,200",
    );
  },
);

/** An authorization server as far as tokens go: a key of its own, and where to find it. */
async function tokenIssuer() {
  const { privateKey, publicKey } = await generateKeyPair("ES256");
  const jwks = JSON.stringify({
    keys: [{ ...(await exportJWK(publicKey)), kid: "k1", alg: "ES256", use: "sig" }],
  });
  const server = createServer((_request, response) =>
    response.writeHead(200, { "content-type": "application/json" }).end(jwks),
  );
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${server.address().port}`;
  return {
    url,
    token: (expiresAt) =>
      new SignJWT({ sub: "ann" })
        .setProtectedHeader({ alg: "ES256", kid: "k1" })
        .setIssuer(url)
        .setAudience("us")
        .setIssuedAt(Math.floor(expiresAt) - 4 * 3600)
        .setExpirationTime(Math.floor(expiresAt))
        .sign(privateKey),
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
