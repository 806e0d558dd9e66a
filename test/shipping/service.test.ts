/** The systemd unit and the reverse proxies: what can be checked of them, and nginx really run where it is installed. */
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { request } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { parse } from "yaml";
import { inRepository } from "../support/cardea.js";
import { CERTIFICATE, KEY } from "../support/certificates.js";
import { start } from "../support/processes.js";
import { freePort } from "../support/told-port.js";
import { until } from "../support/until.js";

const read = (path: string): string => readFileSync(inRepository(path), "utf8");
const isInstalled = (command: string, ...args: readonly string[]): boolean =>
  spawnSync(command, args).error === undefined;

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "cardea-service-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

describe("the systemd unit", () => {
  const unit = read("config/systemd/cardea.service");
  const settingOf = (key: string): string | undefined => new RegExp(`^${key}=(.*)$`, "m").exec(unit)?.[1];

  test("gives the gateway time to drain, and sends its servers no signal before", () => {
    expect(Number(settingOf("TimeoutStopSec"))).toBeGreaterThan(25);
    expect(settingOf("KillMode")).toBe("mixed");
    expect(settingOf("ExecReload")).toBe("/bin/kill -HUP $MAINPID");
  });

  test("does not restart after a usage error or an invalid config", () => {
    expect(settingOf("RestartPreventExitStatus")).toBe("2 78");
  });

  test("allows writable executable memory, which V8 needs", () => {
    expect(settingOf("MemoryDenyWriteExecute")).toBeUndefined();
    expect(settingOf("SystemCallFilter")).toContain("@pkey");
  });

  test.skipIf(!isInstalled("systemd-analyze", "--version"))("is valid for systemd", () => {
    const file = join(temporaryFolder(), "cardea.service");
    // The program is not where the unit has it.
    writeFileSync(file, unit.replace("/usr/bin/node /opt/cardea/dist/main.js", "/bin/true"));
    const { status, stderr } = spawnSync("systemd-analyze", ["verify", file], { encoding: "utf8" });
    expect([status, stderr.split("\n").filter((line) => line.includes("cardea"))]).toEqual([0, []]);
  });
});

test("the PodMonitor scrapes the admin port with the token, under the job name of the alerts", () => {
  const monitor = parse(read("config/kubernetes-podmonitor.yaml")) as {
    readonly spec: {
      readonly jobLabel: string;
      readonly selector: { readonly matchLabels: Readonly<Record<string, string>> };
      readonly podMetricsEndpoints: readonly {
        readonly port: string;
        readonly authorization: { readonly credentials: { readonly name: string; readonly key: string } };
      }[];
    };
  };
  const { jobLabel, selector, podMetricsEndpoints } = monitor.spec;
  expect(selector.matchLabels[jobLabel]).toBe("cardea");
  const [endpoint] = podMetricsEndpoints;
  const kubernetes = read("config/kubernetes.yaml");
  expect(kubernetes).toContain(`name: ${endpoint?.port}, containerPort: 8081`);
  const { name, key } = endpoint?.authorization.credentials ?? {};
  expect(kubernetes).toContain(`secretKeyRef: { name: ${name}, key: ${key} }`);
});

describe("nginx", () => {
  const site = read("config/tls/nginx.conf");

  test("has no buffering, no retry, and the body limit of the gateway", () => {
    for (const line of [
      "proxy_buffering off",
      "proxy_next_upstream off",
      "proxy_http_version 1.1",
      "client_max_body_size 4m",
    ])
      expect(site).toContain(`${line};`);
    expect(site).toMatch(/proxy_set_header Host \$host;/);
  });

  test.skipIf(!isInstalled("nginx", "-v"))("forwards each event at once, over TLS", async () => {
    const folder = temporaryFolder();
    const [key, certificate] = [join(folder, "key.pem"), join(folder, "certificate.pem")];
    writeFileSync(key, KEY);
    writeFileSync(certificate, CERTIFICATE);
    let finish = (): void => {};
    const backend = createServer((_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" }).write("data: first\n\n");
      finish = () => response.end("data: last\n\n");
    }).listen(0, "127.0.0.1");
    await once(backend, "listening");
    onTestFinished(() => void backend.close());
    const port = await freePort();
    const config = site
      .replaceAll("127.0.0.1:8080", `127.0.0.1:${(backend.address() as AddressInfo).port}`)
      .replace("listen 443 ssl", `listen 127.0.0.1:${port} ssl`)
      .replace("/etc/ssl/cardea/fullchain.pem", certificate)
      .replace("/etc/ssl/cardea/privkey.pem", key);
    const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
      .map((kind) => `${kind}_temp_path ${folder}/${kind};`)
      .join("\n");
    writeFileSync(
      join(folder, "nginx.conf"),
      `pid ${folder}/nginx.pid;\nerror_log stderr;\nevents {}\nhttp {\naccess_log off;\n${temporary}\n${config}\n}\n`,
    );
    const nginx = start("nginx", ["-p", folder, "-c", join(folder, "nginx.conf"), "-g", "daemon off;"]);
    onTestFinished(async () => void (await nginx.stop()));
    const seen = await until("nginx to listen", () => streamOf(port).catch(() => undefined));
    await until("the first event, before the stream ends", () => seen.text().includes("first"));
    expect(seen.text()).not.toContain("last");
    finish();
    await until("the last event", () => seen.text().includes("last"));
  });
});

test.skipIf(!isInstalled("caddy", "version"))("the Caddyfile is valid for Caddy", () => {
  const args = ["validate", "--adapter", "caddyfile", "--config", inRepository("config/tls/Caddyfile")];
  const home = temporaryFolder();
  const { status, stdout } = spawnSync("caddy", args, {
    encoding: "utf8",
    env: { ...process.env, HOME: home },
  });
  expect([status, stdout]).toEqual([0, expect.stringContaining("Valid configuration")]);
});

/** Opens a stream through the proxy; `text` is what has come so far. */
function streamOf(port: number): Promise<{ text(): string }> {
  return new Promise((resolve, reject) => {
    const options = {
      port,
      host: "127.0.0.1",
      rejectUnauthorized: false,
      headers: { host: "mcp.example.com" },
    };
    const asked = request(options, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk: string) => {
        text += chunk;
      });
      resolve({ text: () => text });
    });
    asked.on("error", reject).end();
    onTestFinished(() => void asked.destroy());
  });
}
