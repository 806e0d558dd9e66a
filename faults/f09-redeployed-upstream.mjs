/** F9: a server behind a URL is replaced: sessions are gone, credentials are refused, it says to come back later. */

import { openHost, refusalOf, textOf } from "../test/support/host/host.mjs";
import { startGateway } from "./support/gateway.mjs";
import { ms, pause, row, until } from "./support/row.mjs";
import { httpServer } from "./support/servers.mjs";
import { httpUpstream } from "./upstreams/http.mjs";

await row(
  "F9",
  "a redeployed HTTP server: 404 for its sessions, 401, 503 with Retry-After, another revision",
  async (row) => {
    const upstream = row.own(await httpUpstream({ era: "legacy" }));
    const gateway = row.own(await startGateway({ mcpServers: { web: httpServer(upstream) } }));
    await gateway.met("web");
    const hosts = await Promise.all(["legacy", "modern"].map((era) => openHost(gateway.url, era)));
    const echo = (host, text) => host.call("web__echo", { text });
    await echo(hosts[0], "first");

    // The sessions are gone: one more handshake, without an error at any host.
    const opened = upstream.ledger.opened;
    upstream.sessions.clear();
    const replies = await Promise.all(Array.from({ length: 20 }, (_, i) => echo(hosts[i % 2], `after ${i}`)));
    const right = replies.filter(({ message }, i) => textOf(message) === `after ${i}`).length;
    row.check("calls answered after the sessions were lost", 20, right, right === 20);
    const handshakes = upstream.ledger.opened - opened;
    row.check("handshakes needed", 1, handshakes, handshakes === 1);

    // Requests without credentials are refused, as by a proxy that was not ready: one clear error, and no request for the calls
    // of the next minute.
    let asked = 0;
    const refusing = performance.now();
    upstream.intercept = (_request, response) => {
      asked += 1;
      response.writeHead(401, { "www-authenticate": "Bearer" }).end();
      return true;
    };
    const refused = refusalOf((await echo(hosts[0], "who")).message);
    for (const host of hosts) await echo(host, "and now");
    row.check("requests for three calls that get 401", "<= 2", asked, asked <= 2);
    row.check(
      "the caller's error",
      "sign_in_required",
      refused?.code,
      refused?.code === "sign_in_required" && refused.server === "web",
    );
    upstream.intercept = undefined;
    const { ms: waited } = await until(
      "calls without credentials to be sent again",
      async () => textOf((await echo(hosts[1], "again")).message) === "again",
      70_000,
      500,
    );
    const served = performance.now() - refusing;
    row.check(
      "serves without a sign-in again after",
      "a minute: 60 to 63 s",
      ms(served),
      waited > 0 && served >= 60_000 && served <= 63_000,
    );

    // Come back later.
    await echo(hosts[0], "well");
    upstream.intercept = (_request, response) => {
      response.writeHead(503, { "retry-after": "3" }).end();
      return true;
    };
    const later = refusalOf((await echo(hosts[1], "now")).message);
    row.check(
      "503 with Retry-After: 3",
      "retryable, after 3000 ms",
      `${later?.code}, ${later?.retryAfterMs} ms`,
      later?.retryable === true && later.retryAfterMs === 3000,
    );
    upstream.intercept = undefined;

    // A server that sends Retry-After during its handshake is left alone for that time.
    let greetings = [];
    const busy = row.own(await httpUpstream({ era: "legacy" }));
    const begun = performance.now();
    busy.intercept = (_request, response) => {
      greetings.push(performance.now() - begun);
      if (performance.now() - begun > 2000) return false;
      response.writeHead(503, { "retry-after": "4" }).end();
      return true;
    };
    const second = row.own(await startGateway({ mcpServers: { busy: httpServer(busy) } }));
    await pause(3500);
    const early = greetings.filter((at) => at > greetings[0] + 300 && at < greetings[0] + 3900).length;
    await second.met("busy");
    const wait = greetings.find((at) => at > greetings[0] + 300) - greetings[0];
    row.check(
      "handshake despite Retry-After 4 s",
      "not before",
      `after ${ms(wait)}, ${early} times earlier`,
      early === 0 && wait >= 3900,
    );

    // Another revision, and then another era, under the same URL.
    greetings = [];
    const old = upstream.port;
    await upstream.stop();
    const lost = refusalOf((await echo(hosts[0], "gone")).message);
    row.check(
      "while it is down",
      "a clear error",
      lost?.code,
      ["upstream_unavailable", "upstream_closed"].includes(lost?.code),
    );
    const modern = row.own(await httpUpstream({ era: "modern", port: old }));
    let works;
    const back = performance.now();
    while (performance.now() - back < 20_000) {
      works = textOf((await echo(hosts[0], "new era")).message) === "new era";
      if (works) break;
      await pause(100);
    }
    row.check(
      "back as a server of 2026-07-28",
      "serves",
      `${works ? "serves" : "does not"}, after ${ms(performance.now() - back)}`,
      works && modern.ledger.calls.echo > 0,
    );
  },
);
