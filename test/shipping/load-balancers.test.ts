/** config/haproxy.cfg and config/nginx.conf, as they run in front of gateways: Debian's haproxy and nginx, where they are installed. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { inRepository, type Serving, serve } from "../support/cardea.js";
import { type Fixture, startFixture } from "../support/fixture.js";
import { Host, openHost, textOf } from "../support/host/host.mjs";
import { start } from "../support/processes.js";
import { freePort } from "../support/told-port.js";
import { until } from "../support/until.js";

const folder = mkdtempSync(join(tmpdir(), "cardea-balancers-"));
let fixture: Fixture;
/** Three, behind each balancer. */
let gateways: readonly Serving[];
beforeAll(async () => {
  fixture = await startFixture("modern", "http");
  gateways = await Promise.all([1, 2, 3].map(startGateway));
});
afterAll(async () => {
  await Promise.all(gateways.map((gateway) => gateway.end()));
  await fixture.stop();
  rmSync(folder, { recursive: true, force: true });
});

const BALANCERS = [
  { name: "haproxy", program: "/usr/sbin/haproxy", example: "config/haproxy.cfg", sessions: true },
  { name: "nginx", program: "/usr/sbin/nginx", example: "config/nginx.conf", sessions: false },
];

for (const { name, program } of BALANCERS)
  if (!existsSync(program))
    console.warn(`NOT RUN: the tests with ${name}; install it with apt-get install ${name}`);

/** Starts the program with its example, in which only the addresses are others. */
async function startBalancer(
  { name, program, example }: (typeof BALANCERS)[number],
  ports: readonly number[],
) {
  const port = await freePort();
  let text = readFileSync(inRepository(example), "utf8");
  for (const [at, of] of ports.entries()) text = text.replace(`cardea-${at + 1}:8080`, `127.0.0.1:${of}`);
  expect(text).not.toContain("cardea-1:8080");
  if (name === "nginx") text = text.replace("listen 8080", `listen 127.0.0.1:${port}`);
  const file = join(folder, `${name}-${port}.cfg`);
  writeFileSync(file, text);
  const flags =
    name === "nginx"
      ? ["-c", file, "-p", folder, "-e", join(folder, "nginx.log"), "-g", `daemon off; pid ${file}.pid;`]
      : ["-f", file];
  const env = { ...process.env, CARDEA_BIND: `127.0.0.1:${port}`, HAPROXY_STATS: `${file}.sock` };
  const balancer = start(program, flags, { env });
  const origin = `http://127.0.0.1:${port}`;
  const isThere = async (): Promise<boolean> => (await fetch(`${origin}/readyz`)).ok;
  await until(`${name} and the gateways`, () => isThere().catch(() => false));
  return { url: `${origin}/mcp`, balancer };
}

/** One more gateway; the caller stops it. */
const startGateway = (): Promise<Serving> => serve({ mcpServers: { one: fixture.entry } });

/** The example in front of these gateways. */
async function startBefore(example: (typeof BALANCERS)[number], gateways: readonly Serving[]) {
  const ports = gateways.map((gateway) => Number(new URL(gateway.url).port));
  return startBalancer(example, ports);
}

// A gateway that stops lingers for seconds: the balancers are tested at the same time.
for (const example of BALANCERS)
  describe.skipIf(!existsSync(example.program))(example.name, { concurrent: true }, () => {
    let shared: Awaited<ReturnType<typeof startBefore>>;
    beforeAll(async () => {
      shared = await startBefore(example, gateways);
    });
    afterAll(() => shared.balancer.stop());

    /** How many calls each gateway has had. */
    const served = (): Promise<readonly number[]> =>
      Promise.all(
        gateways.map(async ({ admin }) => {
          const text = await (await fetch(`${admin}/metrics`)).text();
          return Number(/^cardea_requests_total\{method="tools\/call".*\} (\d+)$/m.exec(text)?.[1] ?? 0);
        }),
      );
    const echo = async (host: Host, message: string): Promise<string | undefined> =>
      textOf((await host.call("one__echo", { value: message })).message);
    const modern = (url = shared.url): Host => new Host(url, "modern", { agent: false });

    test("distributes calls over all gateways", async () => {
      const before = await served();
      await until("calls at each of them", async () => {
        expect(await echo(modern(), "to any")).toContain("to any");
        return (await served()).every((count, at) => count > (before[at] ?? 0));
      });
    });

    test("passes each event of a stream on when it comes", async () => {
      const letGo = join(folder, `${example.name}-let-go`);
      const heard: string[] = [];
      let reported = (): void => {};
      const first = new Promise<void>((resolve) => {
        reported = resolve;
      });
      const done = modern().call(
        "one__work",
        { label: "streamed", steps: 100_000, stepMs: 5, until: letGo },
        {
          meta: { progressToken: "p" },
          onMessage: ({ method }) => {
            heard.push(String(method));
            reported();
          },
        },
      );
      await first;
      writeFileSync(letGo, "");
      expect(textOf((await done).message)).toBe("streamed was let go");
      expect(heard).toContain("notifications/progress");
    });

    test.runIf(example.sessions)(
      "sends the requests of a session to the gateway that opened it",
      async () => {
        for (let at = 0; at < 6; at += 1) {
          const host = await openHost(shared.url, "legacy", { agent: false });
          for (const message of ["a", "b", "c", "d"]) expect(await echo(host, message)).toContain(message);
          await host.close();
        }
      },
    );

    test("loses no call when a gateway stops: those under way finish, and new ones go elsewhere", async ({
      onTestFinished,
    }) => {
      const leaving = await startGateway();
      onTestFinished(async () => void (await leaving.end()));
      const { url, balancer } = await startBefore(example, [leaving, ...gateways.slice(1)]);
      onTestFinished(async () => void (await balancer.stop()));
      const letGo = join(folder, `${example.name}-drained`);
      const hosts = [modern(url), modern(url), modern(url)];
      const working = hosts.map((host, at) =>
        host.call("one__work", { label: `${example.name} ${at}`, steps: 100_000, stepMs: 20, until: letGo }),
      );
      const begun = () =>
        fixture
          .ledger()
          .filter(({ event, label }) => event === "begun" && label?.startsWith(`${example.name} `) === true);
      await until("three calls under way", () => begun().length === 3);
      let exit: number | null | undefined;
      const stopping = leaving.stop().then(({ code }) => {
        exit = code;
      });
      for (let at = 0; at < 60; at += 1) expect(await echo(modern(url), `${at}`)).toContain(`${at}`);
      writeFileSync(letGo, "");
      for (const done of await Promise.all(working)) expect(textOf(done.message)).toMatch(/was let go$/);
      while (exit === undefined) expect(await echo(modern(url), "until it has stopped")).toContain("until");
      for (let at = 0; at < 12; at += 1) expect(await echo(modern(url), `${at}`)).toContain(`${at}`);
      await stopping;
      expect(exit).toBe(0);
    });
  });
