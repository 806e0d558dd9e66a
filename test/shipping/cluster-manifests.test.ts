/** The examples of a cluster, as far as they can be checked where nothing runs containers: Compose, Kubernetes, and the Helm chart. */
import "../features/admin/needed.js";
import { spawnSync } from "node:child_process";
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Ajv } from "ajv";
import { afterAll, describe, expect, test } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { advise } from "../../src/config/advice.js";
import type { Config } from "../../src/config/config.js";
import { readConfig } from "../../src/config/read.js";
import { inRepository } from "../support/cardea.js";
import { SECTIONS } from "../support/features.js";
import { last, stagesOf } from "./dockerfile.js";

const read = (path: string): string => readFileSync(inRepository(path), "utf8");
const folder = mkdtempSync(join(tmpdir(), "cardea-manifests-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly data?: Readonly<Record<string, string>>;
  readonly spec?: Record<string, unknown>;
}

const manifestsOf = (text: string): readonly Manifest[] =>
  parseAllDocuments(text).flatMap((one) => {
    expect(one.errors).toEqual([]);
    return one.toJS() === null ? [] : [one.toJS() as Manifest];
  });

const FILES = ["config/kubernetes.yaml", "config/kubernetes-cluster.yaml", "config/kubernetes-redis.yaml"];
const cluster = manifestsOf(read("config/kubernetes-cluster.yaml"));
const compose = parse(read("config/compose.cluster.yaml"), { merge: true }) as {
  readonly services: Readonly<Record<string, Record<string, unknown>>>;
};
const [deployment] = cluster.filter(({ kind }) => kind === "Deployment");
const pod = (deployment as unknown as { readonly spec: { readonly template: { readonly spec: Pod } } }).spec
  .template.spec;
interface Pod {
  readonly terminationGracePeriodSeconds: number;
  readonly containers: readonly [
    {
      readonly env: readonly { readonly name: string }[];
      readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
      readonly volumeMounts: readonly { readonly mountPath: string }[];
    },
  ];
}
const DRAIN_SECONDS = 25;

/** The config that a text is, where each secret is of the environment or of a file. */
function configOf(text: string): Config {
  const state = join(folder, "secret");
  writeFileSync(state, "0123456789abcdef0123456789abcdef");
  const env = {
    CARDEA_ADMIN_TOKEN: "a-token-of-some-length",
    CARDEA_KEY_HASH: `sha256:${"ab".repeat(32)}`,
    CARDEA_STATE_KEY: "0123456789abcdef0123456789abcdef",
    CARDEA_PEER_KEY: "0123456789abcdef0123456789abcdef",
    CARDEA_STORE_PASSWORD: "a-password-of-some-length",
    HOSTNAME: "cardea-1",
    POD_IP: "10.1.2.3",
  };
  const outcome = readConfig(
    text.replaceAll(/\$\{file:[^}]*\}/g, `\${file:${state}}`),
    join(folder, "cardea.jsonc"),
    { env, sections: SECTIONS },
  );
  if (!outcome.ok || outcome.problems.length > 0)
    throw new Error(outcome.problems.map(({ message }) => message).join("\n"));
  return outcome.config;
}
const configMapText = cluster.find(({ kind }) => kind === "ConfigMap")?.data?.["cardea.jsonc"] ?? "";

describe.each([
  [
    "config/container-cluster/cardea.jsonc",
    read("config/container-cluster/cardea.jsonc"),
    "http://cardea-1:9001",
  ],
  ["the ConfigMap", configMapText, "http://10.1.2.3:9001"],
])("%s", (name, text, advertise) => {
  test("is a replica of a cluster that others reach, without a warning", () => {
    const config = configOf(text);
    expect(config.features.cluster).toMatchObject({ peers: { kind: "store", advertise }, onOutage: "share" });
    expect(config.keys?.state).toBeDefined();
    expect(advise(config)).toEqual([]);
  });

  test("gets every variable and file that it names", () => {
    const [container] = pod.containers;
    const variables = [...text.matchAll(/\$\{(CARDEA_\w+|POD_IP)\}/g)].map(([, variable]) => variable);
    const given =
      name === "the ConfigMap"
        ? container.env.map((one) => one.name)
        : Object.keys(compose.services["cardea-1"]?.environment as object);
    expect(given).toEqual(expect.arrayContaining(variables));
    const files = [...text.matchAll(/\$\{file:([^}]*)\}/g)].map(([, path]) => path ?? "");
    const mounts = container.volumeMounts.map(({ mountPath }) => mountPath);
    expect(files.filter((path) => !mounts.some((mount) => path.startsWith(`${mount}/`)))).toEqual([]);
  });
});

describe("the replicas of compose", () => {
  const replicas = ["cardea-1", "cardea-2", "cardea-3"];

  test("are the servers of HAProxy, each under its own name", () => {
    const named = [...read("config/haproxy.cfg").matchAll(/^ {2}server \w+ ([\w-]+):8080$/gm)].map(
      ([, at]) => at,
    );
    expect(named).toEqual(replicas);
    for (const name of replicas)
      expect(compose.services[name]).toMatchObject({ hostname: name, read_only: true });
    expect(Object.keys(compose.services)).toEqual([...replicas, "haproxy", "redis"]);
  });

  test("have 10 s more than draining takes, and a store that evicts nothing", () => {
    for (const name of replicas) {
      const grace = Number.parseInt(String(compose.services[name]?.stop_grace_period), 10);
      expect(grace).toBeGreaterThanOrEqual(DRAIN_SECONDS + 10);
    }
    expect(JSON.stringify(compose.services.redis?.command)).toContain("--maxmemory-policy noeviction");
  });

  test("have files to mount", () => {
    const mounted = Object.values(compose.services).flatMap(({ volumes = [] }) => volumes as string[]);
    const paths = mounted.map((volume) => volume.split(":")[0] ?? "").filter((path) => path.startsWith("."));
    expect(paths.length).toBeGreaterThan(0);
    expect(paths.filter((path) => !existsSync(inRepository(`config/${path}`)))).toEqual([]);
  });
});

describe("the manifests for Kubernetes", () => {
  test("have the types and the keys that Kubernetes knows, and no others", () => {
    const manifests = FILES.map((file) => manifestsOf(read(file)));
    for (const ofFile of manifests) expect(ofFile.length).toBeGreaterThan(1);
    expect(typeErrors(manifests.flat())).toBe("");
  });

  test("are checked for unknown keys and wrong types", () => {
    const [configMap, workload] = cluster as [Manifest, Manifest];
    const misspelt = { ...workload, spec: { ...workload.spec, revisionHistoryLimits: 3 } };
    const errors = typeErrors([misspelt, { ...configMap, data: { size: 3 } as never }]);
    expect(errors).toContain("revisionHistoryLimits");
    expect(errors).toContain("Type 'number' is not assignable to type 'string'");
  });

  test("stop later than draining takes, and keep the ports of the config", () => {
    expect(pod.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(DRAIN_SECONDS + 10);
    const { listen, features } = configOf(configMapText);
    const section = features.cluster as { readonly peers: { readonly listen: { readonly port: number } } };
    const peers = section.peers.listen.port;
    const ports = [listen.http.port, features["listen.admin"]?.port, peers];
    expect(pod.containers[0].ports.map(({ containerPort }) => containerPort)).toEqual(ports);
    const exposed = last(stagesOf(read("Dockerfile")).at(-1) ?? [], "EXPOSE")
      ?.split(" ")
      .map(Number);
    expect(ports).toEqual(expect.arrayContaining(exposed ?? []));
  });

  test("have no secret in them", () => {
    for (const file of [...FILES, "config/compose.cluster.yaml", "config/helm/cardea/values.yaml"])
      expect(read(file)).not.toMatch(/\b[0-9a-f]{32,}\b|kind: Secret/);
  });
});

const hasGo =
  spawnSync("go", ["version"]).status === 0 &&
  existsSync("/usr/share/gocode/src/github.com/Masterminds/sprig");
if (!hasGo)
  console.warn("NOT RUN: the Helm chart; apt-get install golang-go golang-github-masterminds-sprig-dev");

describe.runIf(hasGo)("the Helm chart", () => {
  test("renders the manifests of config/kubernetes-cluster.yaml", () => {
    const rendered = rendering("cardea");
    const byName = (manifests: readonly Manifest[]) =>
      Object.fromEntries(
        manifests.map(({ kind, metadata, data, ...rest }) => [
          `${kind} ${metadata.name}`,
          { metadata, ...rest, ...(data !== undefined && { data: JSON.parse(data["cardea.jsonc"] ?? "") }) },
        ]),
      );
    expect(byName(rendered)).toEqual(byName(cluster));
  });

  test("takes another name, other values, and leaves the autoscaler out", () => {
    const rendered = rendering("edge", (values) => ({
      ...values,
      replicas: 5,
      autoscaling: { enabled: false },
      image: { repository: "registry.example.com/cardea", tag: "1.2.3", pullPolicy: "Always" },
    }));
    expect(rendered.map(({ kind, metadata }) => `${kind} ${metadata.name}`).sort()).toEqual([
      "ConfigMap edge",
      "Deployment edge",
      "NetworkPolicy edge",
      "PodDisruptionBudget edge",
      "Service edge",
      "Service edge-peers",
    ]);
    expect(rendered.find(({ kind }) => kind === "Deployment")?.spec).toMatchObject({
      replicas: 5,
      template: {
        spec: { containers: [{ image: "registry.example.com/cardea:1.2.3", imagePullPolicy: "Always" }] },
      },
    });
    expect(typeErrors(rendered)).toBe("");
  });

  test("with volumes is a StatefulSet with one for each replica, which the autoscaler scales", () => {
    const rendered = rendering("cardea", (values) => ({
      ...values,
      persistence: { enabled: true, size: "5Gi", storageClass: "fast" },
    }));
    const [workload] = rendered.filter(({ kind }) => /Deployment|StatefulSet/.test(kind));
    expect(workload).toMatchObject({
      kind: "StatefulSet",
      spec: {
        serviceName: "cardea-peers",
        volumeClaimTemplates: [
          {
            metadata: { name: "home" },
            spec: { storageClassName: "fast", resources: { requests: { storage: "5Gi" } } },
          },
        ],
      },
    });
    const template = workload?.spec?.template as {
      readonly spec: { readonly volumes: readonly { name: string }[] };
    };
    expect(template.spec.volumes.map(({ name }) => name)).not.toContain("home");
    expect(rendered.find(({ kind }) => kind === "HorizontalPodAutoscaler")?.spec).toMatchObject({
      scaleTargetRef: { kind: "StatefulSet", name: "cardea" },
    });
    expect(typeErrors(rendered)).toBe("");
  });

  test("takes everything that a cluster of others may ask for", () => {
    const rendered = rendering("edge", (values) => ({ ...values, ...ALL_VALUES }));
    const spec = (kind: string) => rendered.find((one) => one.kind === kind)?.spec;
    expect(spec("Deployment")).toMatchObject({
      template: {
        metadata: { labels: { team: "platform", "app.kubernetes.io/name": "edge" }, annotations: { a: "b" } },
        spec: {
          imagePullSecrets: [{ name: "registry" }],
          serviceAccountName: "gateway",
          priorityClassName: "high",
          nodeSelector: { pool: "edge" },
          tolerations: [{ key: "dedicated", operator: "Exists" }],
          affinity: { nodeAffinity: {} },
          containers: [
            {
              image: "registry.example.com/cardea:0.1.0",
              env: [
                { name: "POD_IP" },
                { name: "CARDEA_ADMIN_TOKEN", valueFrom: { secretKeyRef: { name: "own", key: "admin" } } },
                { name: "HTTPS_PROXY", value: "http://proxy:3128" },
              ],
              envFrom: [{ secretRef: { name: "more" } }],
            },
          ],
        },
      },
    });
    expect(spec("Ingress")).toMatchObject({
      ingressClassName: "nginx",
      tls: [{ hosts: ["mcp.example.com"], secretName: "mcp-tls" }],
      rules: [{ host: "mcp.example.com" }],
    });
    expect(spec("NetworkPolicy")).toMatchObject({
      policyTypes: ["Ingress", "Egress"],
      egress: [{ ports: [{ protocol: "TCP", port: 443 }] }],
    });
    expect(rendered).toContainEqual(
      expect.objectContaining({ kind: "Service", spec: expect.objectContaining({ type: "LoadBalancer" }) }),
    );
    const [monitor] = rendered.filter(({ kind }) => kind === "PodMonitor");
    expect(monitor).toMatchObject({
      metadata: { labels: { release: "prometheus" } },
      spec: { podMetricsEndpoints: [{ authorization: { credentials: { name: "own", key: "admin" } } }] },
    });
    expect(typeErrors(rendered.filter((one) => one !== monitor))).toBe("");
  });

  test("is without what is switched off", () => {
    const rendered = rendering("cardea", (values) => ({
      ...values,
      networkPolicy: { enabled: false },
      autoscaling: { enabled: false },
    }));
    expect(rendered.map(({ kind }) => kind).sort()).toEqual([
      ...["ConfigMap", "Deployment", "PodDisruptionBudget", "Service", "Service"],
    ]);
  });
});

/** Values for everything that is empty by default. */
const ALL_VALUES = {
  image: { repository: "registry.example.com/cardea", tag: "", pullPolicy: "Always" },
  imagePullSecrets: [{ name: "registry" }],
  secret: { name: "own", variables: { CARDEA_ADMIN_TOKEN: "admin" }, files: ["state-key"] },
  extraEnv: [{ name: "HTTPS_PROXY", value: "http://proxy:3128" }],
  extraEnvFrom: [{ secretRef: { name: "more" } }],
  extraVolumes: [{ name: "tools", emptyDir: {} }],
  extraVolumeMounts: [{ name: "tools", mountPath: "/opt/tools" }],
  service: { type: "LoadBalancer", annotations: { internal: "true" } },
  ingress: {
    enabled: true,
    className: "nginx",
    annotations: { "nginx.ingress.kubernetes.io/proxy-buffering": "off" },
    hosts: ["mcp.example.com"],
    tls: [{ hosts: ["mcp.example.com"], secretName: "mcp-tls" }],
  },
  networkPolicy: {
    enabled: true,
    monitoringNamespace: "monitoring",
    from: [{ namespaceSelector: {} }],
    egress: [{ ports: [{ protocol: "TCP", port: 443 }] }],
  },
  podMonitor: { enabled: true, labels: { release: "prometheus" } },
  serviceAccount: "gateway",
  podLabels: { team: "platform" },
  podAnnotations: { a: "b" },
  priorityClassName: "high",
  nodeSelector: { pool: "edge" },
  tolerations: [{ key: "dedicated", operator: "Exists" }],
  affinity: { nodeAffinity: {} },
};

describe("the schema of the chart's values", () => {
  const schema = JSON.parse(read("config/helm/cardea/values.schema.json")) as object;
  const values = parse(read("config/helm/cardea/values.yaml")) as Record<string, unknown>;
  const validate = new Ajv({ allErrors: true }).compile(schema);

  test("takes the values of the chart, and everything else that a cluster may ask for", () => {
    expect([validate(values), validate.errors]).toEqual([true, null]);
    expect([validate({ ...values, ...ALL_VALUES }), validate.errors]).toEqual([true, null]);
  });

  test("has a key for each value, and for no others", () => {
    const { properties } = schema as { readonly properties: object };
    expect(
      Object.keys(properties)
        .filter((key) => key !== "global")
        .sort(),
    ).toEqual(Object.keys(values).sort());
  });

  test.each([
    ["an unknown key", { replica: 3 }],
    ["a number of replicas in quotes", { replicas: "3" }],
    ["an Ingress without a host", { ingress: { enabled: true, hosts: [] } }],
    ["a secret that is only a name", { secret: "cardea" }],
    ["a size without a unit", { persistence: { enabled: true, size: "5" } }],
  ])("refuses %s", (_, wrong) => {
    expect(validate({ ...values, ...wrong })).toBe(false);
  });
});

/** What the compiler says of these manifests as literals of the types of `kubernetes-models`, which refuse unknown keys. */
function typeErrors(manifests: readonly Manifest[]): string {
  const lines = manifests.flatMap(({ apiVersion, kind, ...rest }, at) => [
    `import type { I${kind} as Kind${at} } from "kubernetes-models/${apiVersion}/${kind}";`,
    `export const manifest${at}: Kind${at} = ${JSON.stringify({ apiVersion, kind, ...rest })};`,
  ]);
  const modules = join(folder, "node_modules");
  if (!existsSync(modules)) symlinkSync(inRepository("node_modules"), modules);
  const file = join(folder, "manifests.ts");
  writeFileSync(file, lines.join("\n"));
  const flags = [
    "--ignoreConfig",
    "--noEmit",
    "--strict",
    "--skipLibCheck",
    "--module",
    "nodenext",
    "--target",
    "es2022",
  ];
  const { stdout } = spawnSync(inRepository("node_modules/.bin/tsc"), [...flags, file], { encoding: "utf8" });
  return stdout;
}

/** What the chart makes of its values, as `change` makes them, under this release name. */
function rendering(
  release: string,
  change: (values: Record<string, unknown>) => Record<string, unknown> = (values) => values,
): readonly Manifest[] {
  const chart = "config/helm/cardea";
  const templates = Object.fromEntries(
    readdirSync(inRepository(`${chart}/templates`)).map((name) => [name, read(`${chart}/templates/${name}`)]),
  );
  const { appVersion } = parse(read(`${chart}/Chart.yaml`)) as { readonly appVersion: string };
  const values = change(parse(read(`${chart}/values.yaml`)) as Record<string, unknown>);
  const { status, stdout, stderr } = spawnSync("go", ["run", inRepository("test/shipping/render-chart.go")], {
    input: JSON.stringify({ release, appVersion, values, templates }),
    encoding: "utf8",
    env: {
      ...process.env,
      GO111MODULE: "off",
      GOPATH: "/usr/share/gocode",
      GOFLAGS: "",
      // Go compiles what it imports once, not in each run.
      GOCACHE: inRepository("node_modules/.cache/go"),
    },
  });
  expect([status, stderr]).toEqual([0, ""]);
  return manifestsOf(stdout);
}
