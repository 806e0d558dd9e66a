/**
 * `cardea list`, `call` and `explain` use the running gateway with their config; no other program can make it call
 * tools.
 */
import "../features/admin/needed.js";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { MAIN, type Serving, startServing, writeConfig } from "../support/cardea.js";
import { hasFeature } from "../support/features.js";
import { fixtureCommand } from "../support/fixture.js";
import { start } from "../support/processes.js";
import { sample } from "../support/sample.js";

let state: string;
let env: Record<string, string | undefined>;
let config: { readonly file: string; readonly remove: () => Promise<void> };
let gateway: Serving;

const ADMIN_TOKEN = "a-token-of-the-admin-listener";

beforeAll(async () => {
  state = mkdtempSync(join(tmpdir(), "cardea-state-"));
  env = { PATH: process.env.PATH, HOME: process.env.HOME, CARDEA_STATE_DIR: state };
  config = writeConfig({
    listen: { admin: { token: ADMIN_TOKEN } },
    mcpServers: { good: fixtureCommand("legacy") },
  });
  const args = ["serve", "--config", config.file, "--port", "0", "--admin-port", "0", "--state-dir", state];
  gateway = await startServing(args, config.remove);
});
afterAll(async () => {
  await gateway.end();
  await rm(state, { recursive: true });
});

async function cardea(args: readonly string[], more: Record<string, string> = {}) {
  const command = start(process.execPath, [MAIN, ...args], { env: { ...env, ...more } });
  let out = "";
  command.child.stdout.setEncoding("utf8").on("data", (text: string) => {
    out += text;
  });
  const { code } = await command.exited;
  return { code, out, said: command.stderr() };
}

const ASKING = /asking the gateway that runs with this config/;

/** Each starts the program once or twice. */
const COMMANDS = [
  "lists what the running gateway lists",
  "calls through the running gateway, with its rules and log",
  "right after a change of the config sees the change",
  "says what its tools cost, and which of them were called",
  "explains by the rules of the running gateway",
  "starts the servers itself with the flag for it",
  "starts the servers itself when the running gateway has another config file",
] as const;
const DRAWN = sample("commands of a running gateway", COMMANDS, 2);

describe("a CLI command with the config of a running gateway", () => {
  const drawn = (title: (typeof COMMANDS)[number], run: () => Promise<void>): void => {
    if (!DRAWN.includes(title)) return;
    if (title.includes("cost") && !hasFeature("token-counts")) return;
    // The others start their processes at the same time.
    if (title === "right after a change of the config sees the change") test(title, run);
    else test.concurrent(title, run);
  };

  drawn("lists what the running gateway lists", async () => {
    const { code, out, said } = await cardea(["list", "tools", "--json", "--config", config.file]);
    expect([code, said]).toEqual([0, expect.stringMatching(ASKING)]);
    const names = (JSON.parse(out) as { name: string; server: string }[]).map(({ name }) => name);
    expect(names).toContain("good__echo");
  });

  drawn("calls through the running gateway, with its rules and log", async () => {
    const { code, out, said } = await cardea(["call", "good__echo", "value=hello", "--config", config.file]);
    expect([code, out, said]).toEqual([0, expect.stringContaining("hello"), expect.stringMatching(ASKING)]);
  });

  drawn("right after a change of the config sees the change", async () => {
    const before = readFileSync(config.file, "utf8");
    const changed = JSON.parse(before) as { mcpServers: Record<string, unknown> };
    changed.mcpServers.more = changed.mcpServers.good;
    writeFileSync(config.file, JSON.stringify(changed));
    const { code, out, said } = await cardea(["list", "tools", "--config", config.file]);
    expect([code, out, said]).toEqual([
      0,
      expect.stringContaining("more__echo"),
      expect.stringMatching(ASKING),
    ]);
    writeFileSync(config.file, before);
  });

  drawn("says what its tools cost, and which of them were called", async () => {
    await cardea(["call", "good__echo", "value=hello", "--config", config.file]);
    const { code, out, said } = await cardea(["tokens", "--json", "--config", config.file]);
    expect([code, said]).toEqual([0, expect.stringMatching(ASKING)]);
    const { endpoints, tools } = JSON.parse(out) as {
      endpoints: { path: string; servers: { server: string; tokens: number }[] }[];
      tools: { name: string; calls: number }[];
    };
    expect(endpoints).toMatchObject([{ path: "/mcp", servers: [{ server: "good" }] }]);
    expect(endpoints[0]?.servers[0]?.tokens).toBeGreaterThan(100);
    expect(tools.find(({ name }) => name === "good__echo")?.calls).toBeGreaterThan(0);
    expect(tools.some(({ calls }) => calls === 0)).toBe(true);
    const servers = await (
      await fetch(`${gateway.admin}/api/v1/servers`, { headers: { authorization: `Bearer ${ADMIN_TOKEN}` } })
    ).json();
    expect(servers).toMatchObject([{ name: "good", tokens: endpoints[0]?.servers[0]?.tokens }]);
  });

  drawn("explains by the rules of the running gateway", async () => {
    const { code, out } = await cardea(["explain", "good__echo", "--as", "alice", "--config", config.file]);
    expect([code, out]).toEqual([0, expect.stringContaining("called by alice")]);
  });

  drawn("starts the servers itself with the flag for it", async () => {
    const { code, said } = await cardea(["list", "tools", "--fresh", "--config", config.file]);
    expect([code, said]).toEqual([0, expect.not.stringMatching(ASKING)]);
  });

  drawn("starts the servers itself when the running gateway has another config file", async () => {
    const other = writeConfig({ mcpServers: { good: fixtureCommand("legacy") } });
    const { code, said } = await cardea(["list", "tools", "--config", other.file]);
    await other.remove();
    expect([code, said]).toEqual([0, expect.not.stringMatching(ASKING)]);
  });
});

describe.concurrent("--url", () => {
  const elsewhere = { CARDEA_STATE_DIR: "/nonexistent/cardea" };

  test("uses the gateway of that admin listener with its token, and needs no config", async () => {
    const args = ["call", "good__echo", "value=hi", "--url", gateway.admin];
    const { code, out } = await cardea([...args, "--token", ADMIN_TOKEN], elsewhere);
    expect([code, out]).toEqual([0, expect.stringContaining("hi")]);
    expect((await cardea(args, { ...elsewhere, CARDEA_ADMIN_TOKEN: ADMIN_TOKEN })).code).toBe(0);
  });

  test("without the token fails and asks for the token", async () => {
    const { code, said } = await cardea(["list", "--url", gateway.admin], elsewhere);
    expect([code, said]).toEqual([
      1,
      expect.stringContaining("wants the token of its admin listener (CARDEA_ADMIN_TOKEN, --token)"),
    ]);
  });

  test("that is the MCP endpoint fails and names the admin listener", async () => {
    const { code, said } = await cardea(["list", "--url", gateway.url], elsewhere);
    expect([code, said]).toEqual([1, expect.stringContaining("is no admin listener")]);
  });
});

test("the admin listener refuses a call without a token or from a cross-origin page", async () => {
  const open = writeConfig({ mcpServers: { good: fixtureCommand("legacy") } });
  const args = ["serve", "--config", open.file, "--port", "0", "--admin-port", "0", "--state-dir", state];
  const unprotected = await startServing(args, open.remove);
  const post = async (at: Serving, headers: Record<string, string>) => {
    const body = JSON.stringify({ name: "good__echo", arguments: { value: "x" } });
    const answer = await fetch(`${at.admin}/api/v1/calls`, {
      method: "POST",
      body,
      headers: { "content-type": "application/json", ...headers },
    });
    return answer.status;
  };
  try {
    const authorization = `Bearer ${ADMIN_TOKEN}`;
    expect(await post(gateway, { authorization })).toBe(200);
    expect(await post(gateway, { authorization, origin: "http://localhost:3000" })).toBe(403);
    expect(await post(gateway, { authorization, "content-type": "text/plain" })).toBe(415);
    expect(await post(unprotected, {})).toBe(401);
    expect(await post(unprotected, { authorization })).toBe(401);
  } finally {
    await unprotected.end();
  }
});
