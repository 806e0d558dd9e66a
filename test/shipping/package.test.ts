/** The package as npm gets it: what is in it, how large it is, and that it runs where nothing else of this project is. */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type Message, publint } from "publint";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { importsOf } from "../architecture/imports.js";
import { inRepository } from "../support/cardea.js";
import { openModern } from "../support/peers/raw.js";
import { start } from "../support/processes.js";
import { until } from "../support/until.js";

// A fifth of it are the pages of docs/, to which the README links; a tenth the packages that are bundled.
const BUDGET = { packed: 1_120_000, unpacked: 3_700_000, installedPackages: 34 };
/** Names with digests of the contents. */
const CONSOLE = JSON.parse(
  readFileSync(inRepository("dist/admin/console/files.json"), "utf8"),
) as readonly string[];
/** The exporter is resolved; the API is its peer dependency. */
const LOADED_BY_NAME = ["@opentelemetry/api", "@opentelemetry/exporter-trace-otlp-http"];
const LICENCES = [
  "MIT",
  "ISC",
  "BSD-3-Clause",
  "Apache-2.0",
  "(Apache-2.0 AND BSD-3-Clause)",
  "BlueOak-1.0.0",
  // argparse, which js-yaml has for its command line; as permissive as MIT.
  "Python-2.0",
];

/** `zod 4.6.7 (MIT)` */
const LICENCE_TITLE = /^(\S+) \d+\.\d+\.\d+ \(/gm;

interface Packed {
  readonly filename: string;
  readonly size: number;
  readonly unpackedSize: number;
  readonly files: readonly { readonly path: string }[];
}
interface Manifest {
  readonly version: string;
  readonly bin: Readonly<Record<string, string>>;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
  readonly optionalDependencies: Readonly<Record<string, string>>;
}
interface Locked {
  readonly dev?: boolean;
  readonly hasInstallScript?: boolean;
  readonly integrity?: string;
  readonly license?: string;
}

const manifestIn = (file: string) => JSON.parse(readFileSync(inRepository(file), "utf8")) as Manifest;
const manifest = manifestIn("package.json");
const ofTests = manifestIn("test/package.json");
/** The package of test/package.json, which is no package of the registry, and its link. */
const OWN = new Set(["", "test", "node_modules/cardea-tests"]);
const folder = mkdtempSync(join(tmpdir(), "cardea-package-"));
let packed: Packed;
let tarball: string;

// `dist` is packed without a build: a new build would replace the files of other tests.
beforeAll(() => {
  const args = ["pack", "--json", "--ignore-scripts", "--pack-destination", folder];
  const said = execFileSync("npm", args, { cwd: inRepository(""), stdio: ["ignore", "pipe", "pipe"] });
  [packed] = JSON.parse(said.toString("utf8")) as [Packed];
  tarball = join(folder, packed.filename);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const lock = JSON.parse(readFileSync(inRepository("package-lock.json"), "utf8")) as {
  readonly packages: Readonly<Record<string, Locked>>;
};
/** By its path: what is installed with the program. */
const installed = Object.entries(lock.packages).filter(([path, { dev }]) => !OWN.has(path) && dev !== true);

describe("the package", () => {
  test("contains the program, its console, its schema and its pages, and nothing else", () => {
    const paths = packed.files.map(({ path }) => path);
    const chunks = ["document-thread", "renewal-process", "server-token-endpoint", "store-opener"];
    const program = ["dist/main.js", ...chunks.map((name) => `dist/chunks/${name}.js`)];
    const others = [
      "dist/main.js",
      ...["LICENSE", "README.md", "CHANGELOG.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md"],
      ...[
        "package.json",
        "config/cardea.schema.json",
        "config/reference.md",
        "bench/README.md",
        "bench/results.md",
      ],
      "dist/THIRD-PARTY-LICENSES.txt",
      ...["files.json", ...CONSOLE].map((name) => `dist/admin/console/${name}`),
    ];
    expect(paths).toEqual(expect.arrayContaining([...program, ...others]));
    const known = /^dist\/chunks\/[\w-]+\.js$|^docs\/[\w/-]+\.md$/;
    const alien = paths.filter((path) => !known.test(path) && !others.includes(path));
    expect(alien).toEqual([]);
  });

  test("contains every page that its README links to", () => {
    const paths = packed.files.map(({ path }) => path);
    const links = [
      ...readFileSync(inRepository("README.md"), "utf8").matchAll(/\]\((?!https?:|#)([^)#\s]+(?<!\.png))\)/g),
    ];
    const dead = links
      .map(([, link = ""]) => link)
      .filter((link) => !paths.some((path) => (link.endsWith("/") ? path.startsWith(link) : path === link)));
    expect(links.length).toBeGreaterThan(5);
    expect(dead).toEqual([]);
  });

  test("is small", () => {
    expect(packed.size).toBeLessThan(BUDGET.packed);
    expect(packed.unpackedSize).toBeLessThan(BUDGET.unpacked);
  });

  test("is a program without library exports", () => {
    expect(manifest.bin).toEqual({ cardea: "dist/main.js" });
    for (const promise of ["main", "module", "exports", "types", "browser"]) {
      expect(manifest).not.toHaveProperty(promise);
    }
    expect(readFileSync(inRepository("dist/main.js"), "utf8")).toMatch(/^#!\/usr\/bin\/env node\n/);
  });

  test("passes publint", async () => {
    const bytes = readFileSync(tarball);
    const content = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
    const { messages } = await publint({
      pack: { tarball: content as ArrayBuffer },
      strict: true,
    });
    expect(messages satisfies Message[]).toEqual([]);
  });
});

describe("its dependencies", () => {
  test("are the packages that it imports and does not contain", () => {
    const imported = importsOf("src")
      // What the console imports is in its script.
      .filter(({ file }) => !file.startsWith("console/"))
      .filter(({ target }) => !target.endsWith(".ts") && !target.startsWith("node:"))
      .map(({ target }) => target.split("/", target.startsWith("@") ? 2 : 1).join("/"));
    // A peer dependency of @bufbuild/cel.
    const contained = [
      ...readFileSync(inRepository("dist/THIRD-PARTY-LICENSES.txt"), "utf8").matchAll(LICENCE_TITLE),
    ];
    const expected = new Set([...imported, "@bufbuild/protobuf", ...LOADED_BY_NAME]);
    for (const [, name = ""] of contained) expected.delete(name);
    expect(contained.map(([, name]) => name)).toContain("zod");
    const listed = { ...manifest.dependencies, ...manifest.optionalDependencies };
    expect(Object.keys(listed).sort()).toEqual([...expected].sort());
    // A gateway without traces and without a cluster starts without them.
    const optional = /^@opentelemetry\/|^@redis\//;
    expect(Object.keys(manifest.optionalDependencies).filter((name) => !optional.test(name))).toEqual([]);
  });

  test("are all that the program imports", () => {
    const chunks = readdirSync(inRepository("dist/chunks")).filter((name) => name.endsWith(".js"));
    const files = ["dist/main.js", ...chunks.map((name) => `dist/chunks/${name}`)];
    const named = files.flatMap((file) =>
      [
        ...readFileSync(inRepository(file), "utf8").matchAll(
          /^(?:import|export) [^"]*? from "([^".][^"]*)";$/gm,
        ),
      ].map(([, name = ""]) => name.split("/", name.startsWith("@") ? 2 : 1).join("/")),
    );
    const alien = named.filter(
      (name) => !name.startsWith("node:") && manifest.dependencies[name] === undefined,
    );
    expect([named.includes("hono"), alien]).toEqual([true, []]);
  });

  test("are pinned to a version and an integrity hash", () => {
    const versions = Object.values({
      ...manifest.dependencies,
      ...manifest.optionalDependencies,
      ...manifest.devDependencies,
      ...ofTests.devDependencies,
    });
    expect(versions.filter((version) => !/^\d+\.\d+\.\d+$/.test(version))).toEqual([]);
    const loose = Object.entries(lock.packages).filter(
      ([path, { integrity }]) => !OWN.has(path) && !integrity?.startsWith("sha512-"),
    );
    expect(loose).toEqual([]);
  });

  test("are few, have no install scripts, and have permissive licenses", () => {
    expect(installed.length).toBeLessThanOrEqual(BUDGET.installedPackages);
    const running = installed.filter(([, { hasInstallScript }]) => hasInstallScript);
    const restricted = installed.filter(([, { license = "" }]) => !LICENCES.includes(license));
    expect([running, restricted]).toEqual([[], []]);
  });
});

test("an installed package alone prints its version and serves a stdio command at a URL", async () => {
  // As npm would lay it out, without asking the registry; `npm run pack:check` does it with npm.
  const home = join(folder, "somewhere");
  const main = join(home, "node_modules/cardea/dist/main.js");
  mkdirSync(join(home, "node_modules/cardea"), { recursive: true });
  execFileSync("tar", ["-xzf", tarball, "--strip-components=1", "-C", join(home, "node_modules/cardea")]);
  for (const [path] of installed) {
    mkdirSync(dirname(join(home, path)), { recursive: true });
    symlinkSync(inRepository(path), join(home, path), "junction");
  }
  const run = (...args: readonly string[]) =>
    start(process.execPath, [main, ...args], { cwd: home, env: {} });

  const version = run("--version");
  let said = "";
  version.child.stdout.on("data", (text) => {
    said += text;
  });
  expect(await version.exited).toEqual({ code: 0, signal: null });
  expect(said).toBe(`${manifest.version}\n`);

  const memory = inRepository("node_modules/@modelcontextprotocol/server-memory/dist/index.js");
  const bridge = run("--port", "0", "--admin-port", "0", "--", process.execPath, memory);
  try {
    const [url] = await bridge.says(/http:[^\s"]+\/mcp/);
    const host = await openModern({ url });
    const names = await until("its tools", async () => {
      const tools = await host.list("tools");
      return tools.length > 0 && tools.map(({ name }) => name);
    });
    expect(names).toContain("read_graph");
  } finally {
    expect(await bridge.stop()).toEqual({ code: 0, signal: null });
  }
});
