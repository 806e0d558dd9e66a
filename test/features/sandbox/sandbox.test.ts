/** What a server in a sandbox can do, with real programs on this machine. */
import { existsSync, readdirSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { inRepository, startServing } from "../../support/cardea.js";
import { hasFeature } from "../../support/features.js";
import { metGateway } from "../../support/met-gateway.js";
import { descendantsOf, isAlive } from "../../support/processes.js";
import { until } from "../../support/until.js";
import { callTool, fencedTest, folderWith, shellIn } from "./fenced.js";

/** Its real path: a copy of the repository below /tmp has links to it. */
const FILES = realpathSync(
  inRepository("node_modules/@modelcontextprotocol/server-filesystem/dist/index.js"),
);

async function gatewayWith(mcpServers: Readonly<Record<string, object>>) {
  const gateway = await metGateway({ mcpServers });
  onTestFinished(async () => void (await gateway.stop()));
  return {
    ...gateway,
    sh: (run: string, server = "shell") => callTool(gateway.url, `${server}__sh`, { run }),
  };
}

// Its program is hidden from it where the repository is below /tmp.
(FILES.startsWith(`${tmpdir()}/`) ? fencedTest.skip : fencedTest)(
  "server-filesystem reads what is not hidden, and writes only where sandbox.write says",
  async () => {
    const folder = folderWith({ "in/a.txt": "seen", "out/b.txt": "seen too", "secret/key.txt": "hidden" });
    const { url } = await gatewayWith({
      fs: {
        ...{ command: process.execPath, args: [FILES, folder], cwd: folder },
        sandbox: { write: [join(folder, "in")], hide: [join(folder, "secret")] },
      },
    });
    const read = (path: string) => callTool(url, "fs__read_text_file", { path: join(folder, path) });
    const write = (path: string) =>
      callTool(url, "fs__write_file", { path: join(folder, path), content: "new" });
    expect(await read("in/a.txt")).toBe("seen");
    expect(await read("out/b.txt")).toBe("seen too");
    expect(await read("secret/key.txt")).toContain("ENOENT");
    expect(await write("in/new.txt")).toContain("Successfully wrote");
    expect(readFileSync(join(folder, "in/new.txt"), "utf8")).toBe("new");
    expect(await write("out/new.txt")).toMatch(/EROFS|read-only/);
    expect(readdirSync(join(folder, "out"))).toEqual(["b.txt"]);
  },
);

fencedTest(
  "the longer one of a path in write and one in hide counts, and what other programs run stays as it is",
  async () => {
    const folder = folderWith({ ".env": "KEY=1", ".git/hooks/pre-commit": "", "cardea.jsonc": "{}" });
    const { sh } = await gatewayWith({
      shell: shellIn(folder, { write: [folder], hide: [join(folder, ".env")] }),
    });
    expect(await sh("cat .env; echo more > made && cat made")).toMatch(
      /ermission denied[\s\S]*more|more[\s\S]*ermission denied/,
    );
    expect(
      await sh("echo evil > .git/hooks/pre-commit; echo '{}' > cardea.jsonc; mv .git/hooks .git/old"),
    ).toMatch(/(?:.*Read-only file system\s*){2}.*(?:busy|Read-only)/i);
    expect(readFileSync(join(folder, ".git/hooks/pre-commit"), "utf8")).toBe("");
  },
);

fencedTest("it reaches no listener of this machine without network, and does with it", async () => {
  const listener = createServer((_, response) => response.end("reached"));
  await new Promise<void>((resolve) => void listener.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void listener.close().closeAllConnections());
  const { port } = listener.address() as AddressInfo;
  const folder = folderWith({});
  const { sh } = await gatewayWith({
    shell: shellIn(folder, {}),
    net: shellIn(folder, { network: true }),
  });
  const ask = `${process.execPath} -e 'fetch("http://127.0.0.1:${port}").then((r) => r.text()).then(console.log, (e) => console.log(e.cause.code))'`;
  expect((await sh(ask)).trim()).toBe("ECONNREFUSED");
  expect((await sh(ask, "net")).trim()).toBe("reached");
});

fencedTest(
  "it sees no process but its own, has a /tmp and a /run of its own, and no capability",
  async () => {
    const { sh } = await gatewayWith({ shell: shellIn(folderWith({}), {}) });
    expect((await sh("ls /proc | grep -c '^[0-9]'")).trim().length).toBe(1);
    expect(await sh(`kill -0 ${process.pid}; cat /proc/${process.pid}/environ`)).toMatch(
      /No such process|no such process/i,
    );
    const ofAnother = basename(folderWith({}));
    const seen = await sh("ls /run | grep -e docker -e user -e dbus; touch /tmp/mine && ls /tmp");
    expect(seen).toMatch(/^mine$/m);
    expect(seen).not.toMatch(/docker|dbus/);
    expect(seen).not.toContain(ofAnother);
    expect(existsSync("/tmp/mine")).toBe(false);
    expect(await sh("grep -e CapEff -e NoNewPrivs /proc/self/status")).toMatch(
      /CapEff:\s+0+\s+NoNewPrivs:\s+1/,
    );
    expect(await sh("touch /etc/mine; mount -o remount,rw /")).toMatch(
      /Read-only file system[\s\S]*denied|superuser/,
    );
  },
);

fencedTest("operators read which server is fenced", async () => {
  if (!hasFeature("admin")) return;
  const folder = folderWith({});
  const { sandbox: _, ...bare } = shellIn(folder, {});
  const { admin } = await gatewayWith({ shell: shellIn(folder, {}), bare });
  const rows = (await (await fetch(`${admin}/api/v1/servers`)).json()) as readonly {
    name: string;
    fenced: boolean | null;
  }[];
  expect(rows.map(({ name, fenced }) => [name, fenced])).toEqual([
    ["shell", true],
    ["bare", false],
  ]);
});

fencedTest("a request to end reaches it, and it ends with its children", async () => {
  const folder = folderWith({});
  const goodbye = join(folder, "goodbye");
  const gateway = await gatewayWith({
    shell: shellIn(folder, { write: [folder] }, { SAYS_GOODBYE: goodbye }),
  });
  await gateway.sh("sleep 4711 >/dev/null 2>&1 & echo");
  const before = descendantsOf(process.pid);
  const sleeping = before.filter((pid) => commandOf(pid) === "sleep 4711");
  expect(sleeping).toHaveLength(1);
  await gateway.stop();
  expect(existsSync(goodbye)).toBe(true);
  await until("the end of its child", () => sleeping.every((pid) => !isAlive(pid)));
});

fencedTest("a gateway that is killed leaves nothing of it, and hides its own files from it", async () => {
  const folder = folderWith({
    "home/.ssh/id": "key",
    "home/notes": "mine",
    "work/.secrets": "TOKEN=abc\n",
    "work/.key": "",
  });
  const home = join(folder, "home");
  const cwd = join(folder, "work");
  const config = folderWith({});
  const file = join(config, "cardea.json");
  const servers = { shell: { ...shellIn(folder, { write: [cwd] }), start: "eager" } };
  const named = {
    ...(hasFeature("vault") && { credentials: { keyFile: join(cwd, ".key") } }),
    ...(hasFeature("audit") && { audit: { file: join(cwd, ".audit") } }),
  };
  writeFileSync(join(cwd, ".key"), `${"k".repeat(43)}=\n`, { mode: 0o600 });
  writeFileSync(file, JSON.stringify({ envFile: join(cwd, ".secrets"), mcpServers: servers, ...named }));
  const state = join(folder, "state");
  const ports = ["--port", "0", ...(hasFeature("admin") ? ["--admin-port", "0"] : [])];
  const env = { ...process.env, HOME: home, CARDEA_STATE_DIR: state };
  const gateway = await startServing(["serve", "--config", file, ...ports], async () => {}, { env });
  const sh = (run: string) => callTool(gateway.url, "shell__sh", { run });
  expect((await sh(`ls ${home} ${home}/.ssh`)).trim()).toMatch(/notes\s+\S+\/\.ssh:$/);
  expect(await sh(`ls ${state}; cat ${cwd}/.secrets`)).toMatch(/ermission denied/);
  if (hasFeature("vault")) expect(await sh(`cat ${cwd}/.key`)).toMatch(/ermission denied/);
  if (hasFeature("audit")) expect(await sh(`cat ${cwd}/.audit`)).toMatch(/ermission denied/);
  expect(readdirSync(state).length).toBeGreaterThan(0);
  await sh("sleep 4712 >/dev/null 2>&1 & echo");
  const below = descendantsOf(gateway.process.pid);
  expect(below.map(commandOf)).toContain("sleep 4712");
  await gateway.process.stop("SIGKILL");
  await until("the end of all", () => below.every((pid) => !isAlive(pid)));
});

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ").trim();
  } catch {
    // It has ended.
    return "";
  }
}
