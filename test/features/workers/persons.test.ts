/** `cardea serve --workers 2` with `listen.admin.access`: the first process asks a worker whose token it is, and acts for that person. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { testOf } from "../../support/features.js";
import { AUDIENCE, issuer } from "../../support/issuer.js";
import { until } from "../../support/until.js";
import { startTwo } from "./two-workers.js";

testOf("admin", "audit")(
  "with several workers persons have the same rights, and audit lines their names",
  async () => {
    const company = await issuer();
    const folder = mkdtempSync(join(tmpdir(), "cardea-test-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const file = join(folder, "audit.jsonl");
    const started = startTwo((end) => onTestFinished(async () => void (await end())), {
      listen: { admin: { access: { viewers: ["group:oncall"], operators: ["group:platform"] } } },
      auth: { jwt: { issuer: company.url, audience: AUDIENCE } },
      audit: { file },
      mcpServers: {},
    });
    const [, , admin = ""] = await started.says(/ready: (http:\S+) \(admin: (http:[^)]+)\)/);
    const ask = async (path: string, groups?: readonly string[], method = "GET") => {
      const headers = {
        ...(groups !== undefined && {
          authorization: `Bearer ${await company.token({ sub: groups[0], groups })}`,
        }),
        "content-type": "application/json",
        // No client of the listener is believed about who it is.
        "x-cardea-caller": Buffer.from(
          JSON.stringify({ principal: { id: "eve", groups: [], claims: {} }, role: "operator" }),
        ).toString("base64url"),
      };
      const response = await fetch(`${admin}/api/v1/${path}`, {
        ...{ method, headers },
        ...(method === "POST" && { body: "{}" }),
      });
      return [response.status, (await response.json()) as Record<string, unknown>] as const;
    };
    await until("a worker", async () => (await ask("servers", ["oncall"]))[0] === 200);
    expect(await ask("servers")).toMatchObject([401, {}]);
    expect(await ask("servers", ["sales"])).toMatchObject([403, {}]);
    expect(await ask("me", ["sales"])).toEqual([200, { principal: "sales", role: "person" }]);
    expect(await ask("servers/one/restart", ["oncall"], "POST")).toMatchObject([403, {}]);
    expect(await ask("servers/one/restart", ["platform"], "POST")).toEqual([
      409,
      { error: "there is no such server" },
    ]);
    await started.end();
    // Each worker writes a file of its own.
    const lines = readdirSync(folder)
      .filter((name) => !name.endsWith(".head"))
      .flatMap((name) => readFileSync(join(folder, name), "utf8").trim().split("\n"));
    const acted = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(acted.filter(({ kind }) => kind === "admin")).toMatchObject([
      { principal: "platform", address: "127.0.0.1", method: "restart_server", target: "one" },
      { principal: "platform" },
    ]);
  },
);
