/** Secrets of every kind go into the built program, and come out of it nowhere but where they belong. */

import "../features/admin/needed.js";
import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text as readAll } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { inRepository, MAIN } from "../support/cardea.js";
import { hasFeature } from "../support/features.js";
import { httpWire } from "../support/host/wires.mjs";
import { openLegacy, openModern, type RawHost } from "../support/peers/raw.js";
import { descendantsOf, type Started, start } from "../support/processes.js";
import { sample } from "../support/sample.js";
import { until } from "../support/until.js";

const CARELESS = inRepository("test/support/servers/careless.mjs");
/** One of each kind, so that a leak says where it came from. */
const canary = (where: string): string =>
  `canary-${where}-${createHash("sha256").update(where).digest("hex").slice(0, 24)}`;
const CANARIES = {
  variableInEnv: canary("variable-in-env"),
  literalInEnv: canary("literal-in-env"),
  variableInHeader: canary("variable-in-header"),
  literalInHeader: canary("literal-in-header"),
  bearer: canary("bearer"),
  path: canary("path"),
  query: canary("query"),
  token: canary("token"),
  password: canary("password"),
  argument: canary("argument"),
  file: canary("file"),
  adminToken: canary("admin-token"),
  stateKey: canary("state-key"),
  hostKey: canary("host-key"),
  wrongKey: canary("wrong-key"),
} as const;

const folder = mkdtempSync(join(tmpdir(), "cardea-canaries-"));
const configFile = join(folder, "cardea.json");
const ENVIRONMENT = {
  PATH: process.env.PATH,
  HOME: folder,
  CARDEA_LOG_LEVEL: "debug",
  GATEWAY_VARIABLE: CANARIES.variableInEnv,
  HEADER_VARIABLE: CANARIES.variableInHeader,
  PATH_VARIABLE: CANARIES.path,
  ADMIN_VARIABLE: CANARIES.adminToken,
  STATE_VARIABLE: CANARIES.stateKey,
};

const web: Started[] = [];
async function careless(status: number): Promise<string> {
  const server = start(process.execPath, [CARELESS, "http", String(status)]);
  web.push(server);
  const [, port = ""] = await server.says(/ready (\d+)/);
  return `127.0.0.1:${port}`;
}

/** The config; every server in it except the first fails in its own way, on demand. */
async function config(): Promise<object> {
  writeFileSync(join(folder, "secret"), `${CANARIES.file}\n`);
  const env = {
    CARELESS_TOKEN: "${GATEWAY_VARIABLE}",
    CARELESS_API_KEY: CANARIES.literalInEnv,
    CARELESS_FILE: "${file:secret}",
  };
  const headers = {
    "X-Custom": "${HEADER_VARIABLE}",
    "X-Api-Key": CANARIES.literalInHeader,
    Authorization: `Bearer ${CANARIES.bearer}`,
  };
  const urls = await Promise.all([401, 404, 500, 302].map(careless));
  const paths = urls.map((host): [string, object] => [
    `web-${host.split(":")[1]}`,
    { url: `http://${host}/mcp/\${PATH_VARIABLE}?key=${CANARIES.query}`, headers, required: true },
  ]);
  return {
    listen: { http: { port: 0 }, admin: { port: 0, token: "${ADMIN_VARIABLE}" } },
    keys: { state: "${STATE_VARIABLE}" },
    auth: { keys: [{ id: "ann", hash: createHash("sha256").update(CANARIES.hostKey).digest("hex") }] },
    mcpServers: {
      careless: { command: process.execPath, args: [CARELESS], env },
      steady: { command: process.execPath, args: [CARELESS, "--steady"], env, start: "eager" },
      dead: {
        command: process.execPath,
        args: [CARELESS, "--at-once", "--token", CANARIES.argument],
        env,
        required: true,
      },
      nowhere: { url: "http://127.0.0.1:1/mcp", headers: { "X-Auth-Token": CANARIES.token }, required: true },
      ...Object.fromEntries(paths),
    },
  };
}

/** The config as it is meant, and where nothing is required: a gateway ends that misses at first what it must have. */
let strict: string;
let hasty: string;
beforeAll(async () => {
  strict = JSON.stringify(await config(), null, 2);
  hasty = strict.replaceAll('"required": true', '"required": false');
});
afterAll(async () => {
  await Promise.all(web.map((server) => server.stop("SIGKILL")));
  rmSync(folder, { recursive: true, force: true });
});

/** The canaries in the text, by their names. */
const found = (text: string): readonly string[] =>
  Object.entries(CANARIES).flatMap(([name, value]) => {
    const spellings = [value, encodeURIComponent(value), Buffer.from(value).toString("base64").slice(0, -4)];
    return spellings.some((spelling) => text.includes(spelling)) ? [name] : [];
  });

/** Every page that an operator can look at. */
async function pages(admin: string, headers: Record<string, string>): Promise<string> {
  const index = (await (await fetch(`${admin}/api/v1`, { headers })).json()) as { pages: string[] };
  const explain = "/api/v1/explain?name=careless__fine";
  // The stream has the rows of `/api/v1/calls`, and does not end.
  const finite = index.pages.filter((path) => !path.endsWith("/stream"));
  const paths = ["/healthz", "/readyz", "/metrics", "/", "/api/v1", explain, ...finite];
  const texts = await Promise.all(
    paths.map(async (path) => `${path}\n${await (await fetch(admin + path, { headers })).text()}`),
  );
  return texts.join("\n");
}

/** Calls working, crashing and missing tools, and collects the messages to the host. */
async function everythingTold(host: RawHost): Promise<string> {
  const told: unknown[] = [host.introduction()];
  for (const name of [
    "careless__fine",
    "careless__die",
    "careless__fine",
    "dead__x",
    "nowhere__x",
    "nobody__x",
  ]) {
    told.push(await host.request("tools/call", { name, arguments: {} }));
  }
  for (const list of ["tools", "prompts", "resources", "resourceTemplates"] as const)
    told.push(await host.list(list));
  return JSON.stringify(told);
}

const WAYS: readonly (readonly [string, readonly string[]])[] = [
  ["in one process", []],
  ...(hasFeature("workers") ? [["in two workers", ["--workers", "2"]] as const] : []),
];

describe.each(sample("ways to run", WAYS, 1))("the gateway that runs %s", (_how, flags) => {
  let gateway: Started;
  let url = "";
  let admin = "";
  const authorization = `Bearer ${CANARIES.adminToken}`;
  let stdout = "";

  beforeAll(async () => {
    writeFileSync(configFile, hasty);
    gateway = start(process.execPath, [MAIN, "serve", ...flags, "--config", configFile], {
      env: ENVIRONMENT,
      cwd: folder,
    });
    gateway.child.stdout.on("data", (text) => {
      stdout += text;
    });
    [, url = "", admin = ""] = await gateway.says(/(http:\/\/[^\s"]+\/mcp).*?(http:\/\/[^\s"]+)"/);
    const allHaveFailed = async (): Promise<boolean> => {
      const page = await fetch(`${admin}/api/v1/servers`, { headers: { authorization } });
      const servers = (await page.json()) as { state: string }[];
      return servers.length === 8 && servers.every(({ state }) => state === "ready" || state === "backoff");
    };
    await until("all that fails to have failed", allHaveFailed);
    writeFileSync(configFile, strict);
    await until("what is required to be missed", async () => {
      const answer = await fetch(`${admin}/readyz`);
      return (await answer.text()).includes("required server dead") && allHaveFailed();
    });
  });
  afterAll(() => gateway.stop());

  // Lists of servers that do not start are awaited for seconds: these tests look at the same time.
  test.concurrent("sends no secret to hosts of either era, whatever fails", async () => {
    for (const open of [openLegacy, openModern]) {
      const wire = httpWire(url, { authorization: `Bearer ${CANARIES.hostKey}` });
      const host = await open(wire);
      const told = await everythingTold(host);
      expect(told).toContain("fine");
      expect(told).toContain("upstream_");
      expect(found(told)).toEqual([]);
      await host.close();
    }
  });

  test.concurrent("sends no secret to unauthenticated clients, and does not echo a wrong key", async () => {
    const told = [];
    for (const path of ["/mcp", "/mcp/dead", "/healthz", "/readyz", "/nothing"]) {
      const headers = { authorization: `Bearer ${CANARIES.wrongKey}` };
      const answer = await fetch(new URL(path, url), { headers });
      told.push(await answer.text(), JSON.stringify([...answer.headers]));
    }
    expect(told.join()).toContain("required server dead");
    expect(found(told.join())).toEqual([]);
  });

  test.concurrent("has no secret on any admin page", async () => {
    const shown = await pages(admin, { authorization });
    expect(shown).toContain("dead");
    expect(found(shown)).toEqual([]);
    expect(found(await pages(admin, { authorization: `Bearer ${CANARIES.wrongKey}` }).catch(String))).toEqual(
      [],
    );
  });

  test.concurrent("prints no secret of an invalid config", async () => {
    const text = readFileSync(configFile, "utf8");
    const wrong = { ...JSON.parse(text), naming: { maxLength: CANARIES.path } };
    wrong.mcpServers.careless.timeout = "${GATEWAY_VARIABLE}";
    wrong.mcpServers.nowhere.url = `http://ann:${CANARIES.password}@127.0.0.1:1/mcp`;
    writeFileSync(configFile, JSON.stringify(wrong));
    await gateway.says(/the config stays as it was/);
    expect(found(await pages(admin, { authorization }))).toEqual([]);
    writeFileSync(configFile, text);
  });

  test.skipIf(process.platform !== "linux")(
    "passes each process its own secrets only, and none on a command line",
    () => {
      const commandOf = (pid: number): string => readFileSync(`/proc/${pid}/cmdline`, "utf8");
      const steady = descendantsOf(gateway.pid).find((pid) => commandOf(pid).includes("--steady"));
      expect(found(commandOf(gateway.pid) + commandOf(steady as number))).toEqual([]);
      const environment = readFileSync(`/proc/${steady}/environ`, "utf8");
      expect(found(environment)).toEqual(["variableInEnv", "literalInEnv", "file"]);
    },
  );

  test("writes no secret into its log, whatever servers send", async () => {
    const wire = httpWire(url, { authorization: `Bearer ${CANARIES.hostKey}` });
    const host = await openLegacy(wire);
    await everythingTold(host);
    await host.close();
    const all = ["starting with CARELESS_TOKEN=", "cannot log in with", '"outcome":"upstream_closed"'];
    await until("the server to have said all of it, and calls to be logged", () =>
      all.every((text) => gateway.stderr().includes(text)),
    );
    const log = gateway.stderr();
    expect(found(log)).toEqual([]);
    expect(stdout).toBe("");
  });

  test("writes no secret to a file", () => {
    const files = readdirSync(folder, { recursive: true, encoding: "utf8", withFileTypes: true }).filter(
      (entry) => entry.isFile() && !["cardea.json", "hasty.json", "secret"].includes(entry.name),
    );
    const texts = files.map((file) => readFileSync(join(file.parentPath, file.name), "utf8"));
    expect(found(texts.join("\n")).filter((name) => name !== "argument")).toEqual([]);
  });
});

describe("CLI commands", () => {
  // Where nothing is required, nothing is waited for.
  const file = join(folder, "hasty.json");
  beforeAll(() => writeFileSync(file, hasty));

  const run = async (args: readonly string[]): Promise<string> => {
    const command = start(process.execPath, [MAIN, ...args], { env: ENVIRONMENT, cwd: folder });
    command.child.stdin.end();
    const [out] = await Promise.all([readAll(command.child.stdout), command.exited]);
    return `${out}\n${command.stderr()}`;
  };

  const commands = [
    ["check"],
    ["doctor"],
    ["doctor", "--json"],
    ["list", "--json"],
    ["call", "careless__die"],
    ["call", "careless__die", "--json"],
  ].map((words) => [words.join(" "), words] as const);

  test.each(sample("commands with secrets", commands, 2))("%s prints no secret", async (_, args) => {
    const shown = await run([...args, "--config", file]);
    expect(shown).toMatch(/dead|careless|using|checking/);
    expect(found(shown)).toEqual([]);
  });

  test.skipIf(process.platform !== "linux")("connect hides its headers from the process list", async () => {
    const args = [
      MAIN,
      "connect",
      "http://127.0.0.1:1/mcp",
      "--header",
      `Authorization: Bearer ${CANARIES.bearer}`,
    ];
    const bridge = start(process.execPath, args, { env: ENVIRONMENT, cwd: folder });
    await bridge.says(/the next attempt is in/);
    expect(found(readFileSync(`/proc/${bridge.pid}/cmdline`, "utf8"))).toEqual([]);
    await bridge.stop();
    expect(found(bridge.stderr())).toEqual([]);
  });
});
