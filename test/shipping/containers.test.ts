/** The image and its examples, as far as they can be checked where nothing runs containers. */

import "../features/admin/needed.js";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { advise } from "../../src/config/advice.js";
import type { Config } from "../../src/config/config.js";
import { loadConfig } from "../../src/config/load.js";
import { inRepository, MAIN } from "../support/cardea.js";
import { SECTIONS } from "../support/features.js";
import { modernRequest, send } from "../support/http-host.js";
import { start } from "../support/processes.js";
import { copied, last, stagesOf } from "./dockerfile.js";

const read = (path: string): string => readFileSync(inRepository(path), "utf8");
const folder = mkdtempSync(join(tmpdir(), "cardea-containers-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Kubernetes {
  readonly kind: string;
  readonly data: Readonly<Record<string, string>>;
  readonly spec: {
    readonly ports: readonly { readonly port: number; readonly targetPort: string }[];
    readonly template: { readonly spec: Pod };
  };
}
interface Pod {
  readonly terminationGracePeriodSeconds: number;
  readonly automountServiceAccountToken: boolean;
  readonly securityContext: object;
  readonly containers: readonly Container[];
  readonly volumes: readonly { readonly name: string }[];
}
interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string };
}
interface Container {
  readonly env: readonly { readonly name: string }[];
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
  readonly startupProbe: Probe;
  readonly livenessProbe: Probe;
  readonly readinessProbe: Probe;
  readonly securityContext: object;
  readonly volumeMounts: readonly {
    readonly name: string;
    readonly mountPath: string;
    readonly subPath?: string;
    readonly readOnly?: boolean;
  }[];
}
interface Service {
  readonly ports: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly secrets: readonly string[];
  readonly volumes: readonly string[];
  readonly tmpfs: readonly string[];
  readonly healthcheck: { readonly test: readonly string[] };
  readonly read_only: boolean;
  readonly cap_drop: readonly string[];
  readonly security_opt: readonly string[];
  readonly stop_grace_period: string;
}

const documents = parseAllDocuments(read("config/kubernetes.yaml")).map((one) => one.toJS() as Kubernetes);
const ofKind = (kind: string): Kubernetes => documents.find((one) => one.kind === kind) as Kubernetes;
const pod = ofKind("Deployment").spec.template.spec;
const [container] = pod.containers as [Container];
const compose = parse(read("config/compose.yaml")) as {
  readonly services: Readonly<Record<string, Service>>;
  readonly secrets: Readonly<Record<string, { readonly environment: string }>>;
  readonly volumes: object;
};
const { cardea } = compose.services as { readonly cardea: Service };

const HASH = `sha256:${"ab".repeat(32)}`;
const ENVIRONMENT = {
  CARDEA_ADMIN_TOKEN: "a-token-of-some-length",
  CARDEA_KEY_HASH: HASH,
  CARDEA_STATE_KEY: "0123456789abcdef0123456789abcdef",
};
/** Text of a config whose secret file is where this machine has one. */
function configFile(name: string, text: string): string {
  const secret = join(folder, "state-key");
  writeFileSync(secret, "0123456789abcdef0123456789abcdef\n");
  const file = join(folder, name);
  writeFileSync(file, text.replace(/\$\{file:\/run\/secrets\/[^}]*\}/, `\${file:${secret}}`));
  return file;
}
/** A PATH with an `npx` that waits: a gateway whose required server failed to start would end 5 s later. */
function pathWithoutRegistry(): string {
  const path = mkdtempSync(join(folder, "bin-"));
  writeFileSync(join(path, "npx"), `#!${process.execPath}\nprocess.stdin.resume();\n`, { mode: 0o755 });
  return path;
}
async function loaded(file: string): Promise<Config> {
  const outcome = await loadConfig(file, { env: ENVIRONMENT, sections: SECTIONS });
  if (!outcome.ok || outcome.problems.length > 0) throw new Error(JSON.stringify(outcome.problems));
  return outcome.config;
}

const EXAMPLES = [
  ["config/container/cardea.jsonc", read("config/container/cardea.jsonc")],
  ["the ConfigMap", ofKind("ConfigMap").data["cardea.jsonc"] ?? ""],
] as const;
const DRAIN_SECONDS = 25;

describe("the image", () => {
  const stages = stagesOf(read("Dockerfile"));
  const run = stages.at(-1) ?? [];

  test("copies only files that exist and that .dockerignore does not exclude", () => {
    const ignored = read(".dockerignore").split("\n");
    const paths = stages.flatMap(copied);
    expect(paths).toEqual(
      expect.arrayContaining(["package.json", "src", "scripts", "tsconfig.json", "LICENSE"]),
    );
    expect(paths.filter((path) => !existsSync(inRepository(path)) || ignored.includes(path))).toEqual([]);
  });

  test("runs as a numeric non-root user, which an orchestrator can verify", () => {
    expect(last(run, "USER")).toMatch(/^[1-9]\d*:[1-9]\d*$/);
  });

  test("is one process below an init that reaps zombies, without a shell in between", () => {
    expect(JSON.parse(last(run, "ENTRYPOINT") ?? "")).toEqual(["tini", "--", "node", "/app/dist/main.js"]);
    expect(JSON.parse(last(run, "CMD") ?? "")).toEqual(["serve"]);
    expect(last(run, "STOPSIGNAL")).toBe("SIGTERM");
    const health = (last(run, "HEALTHCHECK") ?? "").replace(/^.*?CMD /, "");
    expect((JSON.parse(health) as string[])[2]).toContain("/healthz");
  });

  test("reads its config where the examples mount it, and contains neither a compiler nor a secret", () => {
    expect(last(run, "ENV")).toContain("CARDEA_CONFIG=/etc/cardea/cardea.jsonc");
    expect(cardea.volumes).toContain("./container:/etc/cardea:ro");
    expect(container.volumeMounts).toContainEqual({
      name: "config",
      mountPath: "/etc/cardea",
      readOnly: true,
    });
    expect(run.filter(({ word, rest }) => word === "COPY" && /\bsrc\b|\.env|config/.test(rest))).toEqual([]);
  });
});

describe.each(EXAMPLES)("%s", (name, text) => {
  const file = configFile(name.replaceAll("/", "-").replaceAll(" ", "-"), text);

  test("is a valid config with authentication, and check has no warnings", async () => {
    const config = await loaded(file);
    expect(config.listen.http).toMatchObject({ host: "0.0.0.0", insecure: false });
    expect(config.auth?.keys).toHaveLength(1);
    expect(config.features["listen.admin"]?.token).toBe(ENVIRONMENT.CARDEA_ADMIN_TOKEN);
    expect(advise(config)).toEqual([]);
  });

  test("listens on the ports of the image and the examples", async () => {
    const { listen, features } = await loaded(file);
    const ports = [listen.http.port, features["listen.admin"]?.port];
    expect(last(stagesOf(read("Dockerfile")).at(-1) ?? [], "EXPOSE")).toBe(ports.join(" "));
    expect(container.ports.map(({ containerPort }) => containerPort)).toEqual(ports);
    expect(ofKind("Service").spec.ports.map(({ port }) => port)).toEqual(ports);
    expect(cardea.ports).toEqual(ports.map((port) => `127.0.0.1:${port}:${port}`));
  });

  test("gets every environment variable and secret that it names", () => {
    const variables = [...text.matchAll(/\$\{(CARDEA_\w+)\}/g)].map(([, variable]) => variable);
    const given =
      name === "the ConfigMap" ? container.env.map((one) => one.name) : Object.keys(cardea.environment);
    expect(given).toEqual(expect.arrayContaining(variables));
    const mounts = name === "the ConfigMap" ? container.volumeMounts.map(({ mountPath }) => mountPath) : [];
    const files = [...text.matchAll(/\$\{file:([^}]*)\}/g)].map(([, path]) => path ?? "");
    expect(files.filter((path) => !mounts.some((mount) => path.startsWith(`${mount}/`)))).toEqual([]);
  });

  test("serves health probes by IP address without credentials, and nothing else", async () => {
    const process = start(
      globalThis.process.execPath,
      [MAIN, "serve", "--config", file, "--port", "0", "--admin-port", "0"],
      {
        env: { ...ENVIRONMENT, PATH: pathWithoutRegistry() },
      },
    );
    try {
      const [, port, adminPort] = await process.says(
        /http:\/\/0\.0\.0\.0:(\d+)\/mcp.*http:\/\/0\.0\.0\.0:(\d+)/,
      );
      const status = async (at: string | undefined, path: string) =>
        (await send(`http://127.0.0.1:${at}${path}`, { method: "GET", headers: { host: "10.1.2.3:8080" } }))
          .status;
      const { startupProbe, livenessProbe, readinessProbe } = container;
      for (const { httpGet } of [startupProbe, livenessProbe, readinessProbe]) {
        expect(httpGet.port).toBe("mcp");
        // Not ready: its server, which is required, is still starting.
        const expected = httpGet === readinessProbe.httpGet ? 503 : 200;
        expect([httpGet.path, await status(port, httpGet.path)]).toEqual([httpGet.path, expected]);
      }
      expect(await status(adminPort, "/healthz")).toBe(200);
      expect(await status(adminPort, "/metrics")).toBe(401);
      const host = { headers: { host: "mcp.example.com" } };
      const call = await send(`http://127.0.0.1:${port}/mcp`, modernRequest("tools/list", {}, host));
      expect(call.status).toBe(401);
    } finally {
      await process.stop("SIGKILL");
    }
  });
});

describe("the deployment", () => {
  test("has no root user, a read-only file system and no added capabilities", () => {
    expect(pod.securityContext).toMatchObject({ runAsNonRoot: true, runAsUser: 1000 });
    expect(pod.automountServiceAccountToken).toBe(false);
    expect(container.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"] },
    });
    expect(cardea).toMatchObject({
      read_only: true,
      cap_drop: ["ALL"],
      security_opt: ["no-new-privileges:true"],
    });
  });

  test("of compose passes no secret from the environment to a read-only service, which compose refuses", () => {
    for (const { read_only, secrets = [] } of Object.values(compose.services)) {
      const ofEnvironment = secrets.filter((name) => compose.secrets[name]?.environment !== undefined);
      if (read_only) expect(ofEnvironment).toEqual([]);
    }
  });

  test("can start packages of npx: the home folder is a volume, as tmpfs is noexec", () => {
    const [, home] = /HOME=(\S+)/.exec(last(stagesOf(read("Dockerfile")).at(-1) ?? [], "ENV") ?? "") ?? [];
    expect(cardea.volumes).toContain(`home:${home}`);
    expect(Object.keys(compose.volumes)).toContain("home");
    expect(cardea.tmpfs).toEqual(["/tmp"]);
    // A new volume gets the owner of the image's folder.
    expect(read("Dockerfile")).toContain(`chown 1000:1000 /data ${home}`);
    expect(container.volumeMounts).toContainEqual({ name: "home", mountPath: home });
  });

  test("reports a server that fails to start: the server is required, and the health check is readiness", async () => {
    expect(cardea.healthcheck.test.join(" ")).toContain("/readyz");
    for (const [name, text] of EXAMPLES) {
      const { servers } = await loaded(configFile(`required-${name.replaceAll(/\W/g, "-")}`, text));
      expect(servers.map(({ required }) => required)).toEqual([true]);
    }
  });

  test("has a grace period longer than the drain", () => {
    expect(pod.terminationGracePeriodSeconds).toBeGreaterThan(DRAIN_SECONDS);
    expect(Number.parseInt(cardea.stop_grace_period, 10)).toBeGreaterThan(DRAIN_SECONDS);
  });

  test("has readiness and liveness probes at their own paths", () => {
    expect(container.readinessProbe.httpGet.path).toBe("/readyz");
    expect([container.livenessProbe.httpGet.path, container.startupProbe.httpGet.path]).toEqual([
      "/healthz",
      "/healthz",
    ]);
  });

  test("uses declared volumes and secrets, and reloads a changed ConfigMap", () => {
    const mounted = container.volumeMounts.map(({ name }) => name);
    expect(mounted.sort()).toEqual(pod.volumes.map(({ name }) => name).sort());
    expect(container.volumeMounts.filter(({ subPath }) => subPath !== undefined)).toEqual([]);
    const declared = Object.keys(compose.secrets);
    for (const { secrets = [] } of Object.values(compose.services)) {
      expect(declared).toEqual(expect.arrayContaining([...secrets]));
    }
    for (const service of Object.values(compose.services)) {
      const folders = service.volumes
        .map((volume) => volume.split(":")[0] ?? "")
        .filter((path) => path.startsWith("."));
      expect(folders.filter((path) => !existsSync(inRepository(`config/${path}`)))).toEqual([]);
    }
  });

  test("has no secret in a file", () => {
    for (const text of [
      read("config/kubernetes.yaml"),
      read("config/compose.yaml"),
      ...EXAMPLES.map(([, one]) => one),
    ]) {
      expect(text).not.toMatch(/\b[0-9a-f]{32,}\b|kind: Secret|password:/i);
    }
  });
});
