/** The built program in front of a real issuer: `login`, `logins` and `logout`, with a gateway that runs and without one. */
import "../admin/needed.js";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, type TestContext, test } from "vitest";
import { MAIN } from "../../support/cardea.js";
import { testOf } from "../../support/features.js";
import { type Started, start } from "../../support/processes.js";
import { approveDeviceAs, authorizeAs } from "../../support/sign-in/person.mjs";
import { type RealIssuer, startRealIssuer } from "../../support/sign-in/real-issuer.mjs";
import { until } from "../../support/until.js";

let issuer: RealIssuer;
beforeAll(async () => {
  issuer = await startRealIssuer();
});
afterAll(() => issuer.close());

/** A config and a state folder of its own. */
function place({ onTestFinished }: TestContext, more: object = {}) {
  const folder = mkdtempSync(join(tmpdir(), "cardea-login-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, "cardea.json");
  const config = { mcpServers: { notes: { url: issuer.mcpUrl } }, listen: { http: { port: 0 } }, ...more };
  writeFileSync(file, JSON.stringify(config));
  const env = { PATH: process.env.PATH, HOME: folder, CARDEA_STATE_DIR: join(folder, "state") };
  const run = (...args: readonly string[]) => {
    const started = start(process.execPath, [MAIN, ...args, "--config", file], { env });
    let out = "";
    started.child.stdout.setEncoding("utf8").on("data", (text: string) => {
      out += text;
    });
    // By a signal that the workers of a gateway end with as well: they write to the folder.
    onTestFinished(async () => void (await started.stop()));
    return { ...started, stdout: () => out };
  };
  return { run, folder };
}

type Running = Started & { stdout(): string };

/** The address that stands alone on the first line of stdout. */
const addressOf = (running: Running): Promise<string> =>
  until("an address on stdout", async () => {
    const [line, ...more] = running.stdout().split("\n");
    return more.length > 0 ? line : undefined;
  });

async function endOf(running: Running): Promise<string> {
  const { code } = await running.exited;
  expect(running.stderr() + running.stdout()).not.toMatch(/eyJ[\w-]+\.eyJ/);
  expect({ code, stderr: code === 0 ? "" : running.stderr() }).toEqual({ code: 0, stderr: "" });
  return running.stdout();
}

async function serving(run: ReturnType<typeof place>["run"]) {
  const gateway = run("serve", "--port", "0", "--admin-port", "0");
  await gateway.says(/ready: (\S+)/);
  return gateway;
}

// Programs start and end at the same time: the device grant alone polls every 5 s.
describe.concurrent("with a running gateway", () => {
  test("login ends when the browser reaches the callback, logins lists it, logout ends it", async (context) => {
    const { run } = place(context);
    const gateway = await serving(run);
    const login = run("login", "notes", "--no-browser");
    const page = await fetch(await authorizeAs(await addressOf(login), "ann"));
    expect(await page.text()).toContain("Signed in to notes");
    expect(await endOf(login)).toMatch(/\nnotes: .+\n$/);
    const rows: unknown = JSON.parse(await endOf(run("logins", "--json")));
    expect(rows).toMatchObject([
      {
        server: "notes",
        principal: "anonymous",
        state: "signed_in",
        issuer: issuer.issuer,
        client: "dynamic",
      },
    ]);
    expect(gateway.stderr()).toMatch(/signed in at notes/);
    const logout = run("logout", "notes");
    await endOf(logout);
    expect(logout.stderr()).toContain("its tokens are revoked");
    expect(await endOf(run("logins", "--json"))).toBe("[]\n");
  });

  testOf("audit", "workers")(
    "with several workers any accepts the callback, one signs in and out for the operator, and audits both",
    async (context) => {
      const token = "the-token-of-an-operator";
      const { run, folder } = place(context, {
        listen: { http: { port: 0 }, admin: { port: 0, token } },
        audit: { file: "audit.jsonl" },
      });
      const gateway = run("serve", "--workers", "2");
      const admin = (await gateway.says(/admin: ([^)]+)/))[1] ?? "";
      const remote = ["--url", admin, "--token", token];
      const login = run("login", "notes", "--no-browser", ...remote);
      expect((await fetch(await authorizeAs(await addressOf(login), "ann"))).status).toBe(200);
      await endOf(login);
      expect(JSON.parse(await endOf(run("logins", "--json", ...remote)))).toMatchObject([
        { server: "notes" },
      ]);
      await endOf(run("logout", "notes", ...remote));
      const files = readdirSync(folder).filter((file) => /^audit.*jsonl$/.test(file));
      const lines = files.flatMap((file) => readFileSync(join(folder, file), "utf8").split("\n"));
      const signIns = lines.filter((line) => line.includes('"sign_in"'));
      expect(signIns.map((line) => (JSON.parse(line) as { outcome: string }).outcome).sort()).toEqual([
        "finished",
        "signed_out",
        "started",
      ]);
    },
  );

  test("two principals sign in, each with its own tokens", async (context) => {
    const key = "0".repeat(64);
    const { run } = place(context, {
      auth: {
        keys: [
          { id: "alice", hash: `sha256:${key}` },
          { id: "bob", hash: `sha256:${"1".repeat(64)}` },
        ],
      },
    });
    await serving(run);
    const unnamed = run("login", "notes");
    expect((await unnamed.exited).code).toBe(2);
    expect(unnamed.stderr()).toContain("alice, bob");
    for (const who of ["alice", "bob"]) {
      const login = run("login", "notes", "--as", who, "--no-browser");
      await fetch(await authorizeAs(await addressOf(login), who));
      await endOf(login);
    }
    const rows = JSON.parse(await endOf(run("logins", "--json"))) as readonly { principal: string }[];
    expect(rows.map(({ principal }) => principal)).toEqual(["alice", "bob"]);
  });
});

describe.concurrent("without a running gateway", () => {
  test("login accepts a pasted callback URL", async (context) => {
    const { run } = place(context);
    const login = run("login", "notes", "--no-browser");
    const callback = await authorizeAs(await addressOf(login), "ann");
    login.child.stdin.write("nonsense\n");
    await login.says(/not a URL/);
    login.child.stdin.write(`${callback}\n`);
    await endOf(login);
  });

  test("login signs in with the device grant", async (context) => {
    const { run } = place(context);
    const login = run("login", "notes", "--device");
    await approveDeviceAs(await addressOf(login), "ann");
    await endOf(login);
    expect(await endOf(run("logins"))).toContain("notes\tanonymous\t");
  });

  test("login reports a denied sign-in, and an unknown server", async (context) => {
    const { run } = place(context);
    const login = run("login", "notes", "--no-browser");
    const page = await fetch(await authorizeAs(await addressOf(login), "nobody"));
    expect(page.status).toBe(403);
    expect((await login.exited).code).toBe(1);
    expect(login.stderr()).toContain("the person said no");
    const other = run("login", "linear");
    expect((await other.exited).code).toBe(1);
    expect(other.stderr()).toContain("There is no server");
  });
});
