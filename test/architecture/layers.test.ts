/** Who may look at whom (ARCHITECTURE.md, "Who may look at whom"): every arrow points downward. */
import { describe, expect, test } from "vitest";
import { filesOf, type Import, importsOf, readImports } from "./imports.js";

/** Everything that the wiring in `gateway/` puts together. */
const BELOW_GATEWAY = [
  ...["catalog", "config", "core", "downstream", "downstream/edge.ts", "downstream/legacy"],
  ...[
    "downstream/modern",
    "http",
    "http/loopback.ts",
    "resilience",
    "routing",
    "runtime",
    "telemetry",
    "wire",
  ],
  ...["state", "outgoing"],
  ...["upstream", "upstream/legacy", "upstream/supervision", "upstream/transport"],
  "state/private-file.ts",
  "upstream/supervision/channel-kind.ts",
];

/**
 * Each folder, or single file whose types its neighbours share, with everything it may import. Folders without an entry
 * may not be imported at all. A folder that may import `core` may import `wire` too: the shared types contain its JSON.
 */
const MAY_LOOK_AT: Readonly<Record<string, readonly string[]>> = {
  wire: [],
  // One definition, so that a config which passes its check is one that is served.
  "http/loopback.ts": [],
  "http/address-ranges.ts": [],
  // How every request leaves: directly or through a proxy, with the TLS settings of its server; how a URL that a peer named is fetched.
  outgoing: ["core", "wire", "runtime", "http", "http/loopback.ts"],
  config: ["http/loopback.ts", "http/address-ranges.ts", "outgoing", "wire"],
  core: ["wire"],
  // What the gateway needs of Node and V8: yields, timers, digests, caches, memory.
  runtime: ["core", "wire"],
  // What both listeners check of an HTTP request, and which addresses are public.
  http: ["core", "wire", "runtime", "http/loopback.ts", "http/address-ranges.ts"],
  // Packages are allowed here, so RE2 is here and not in `core`.
  patterns: ["core"],
  catalog: ["core", "wire", "runtime", "patterns"],
  telemetry: ["core", "wire", "runtime"],
  // What protects a server and a call whatever the rules are.
  resilience: ["core", "wire", "runtime"],
  routing: ["core", "wire", "runtime", "catalog"],
  "downstream/edge.ts": ["core", "wire"],
  "downstream/legacy": ["core", "wire", "runtime", "downstream/edge.ts"],
  "downstream/modern": ["core", "wire", "runtime", "downstream/edge.ts"],
  downstream: [
    "core",
    "wire",
    "runtime",
    "http",
    "http/loopback.ts",
    "outgoing",
    "config",
    "telemetry",
    "downstream/edge.ts",
    "downstream/legacy",
    "downstream/modern",
  ],
  "upstream/connection.ts": ["core", "wire"],
  "upstream/transport": ["core", "wire", "runtime", "outgoing"],
  // What both eras need to hold a conversation; they share it, and never look at each other.
  "upstream/protocol": ["core", "wire", "runtime", "upstream/transport", "upstream/connection.ts"],
  "upstream/legacy": [
    ...["core", "wire", "runtime", "upstream/transport", "upstream/connection.ts", "upstream/protocol"],
  ],
  "upstream/modern": [
    ...["core", "wire", "runtime", "upstream/transport", "upstream/connection.ts", "upstream/protocol"],
  ],
  "upstream/supervision": [
    ...["core", "wire", "config", "upstream/transport", "upstream/connection.ts", "upstream/protocol"],
    ...["upstream/legacy", "upstream/modern", "upstream/supervision/channel-kind.ts"],
  ],
  // How servers with a `type` of a feature are reached: a feature names the file, and commands what it says of servers.
  "upstream/supervision/channel-kind.ts": ["core", "config", "upstream/transport", "upstream/supervision"],
  "upstream/leases": [
    ...["core", "wire", "config", "upstream/transport", "upstream/connection.ts", "upstream/protocol"],
    ...["upstream/legacy", "upstream/supervision"],
  ],
  upstream: [
    "core",
    "wire",
    "runtime",
    "config",
    "telemetry",
    "upstream/transport",
    "upstream/connection.ts",
    "upstream/protocol",
    "upstream/legacy",
    "upstream/modern",
    "upstream/supervision",
    "upstream/leases",
  ],
  // What the log and features leave out of messages: the secrets of an entry.
  "gateway/given-secrets.ts": ["config", "outgoing", "telemetry"],
  // What is kept on the disk; it knows no era.
  state: ["core", "wire", "runtime", "config", "state/private-file.ts"],
  "state/private-file.ts": [],
  // The page in the browser; of features it knows the types of rows alone.
  console: ["wire", "features/admin"],
  gateway: [...BELOW_GATEWAY, "gateway/given-secrets.ts"],
  // What commands read of a pipeline, and the listener for operators.
  "gateway/views": [...BELOW_GATEWAY, "gateway"],
  // The composition root.
  "gateway/gateway.ts": [...BELOW_GATEWAY, "gateway", "gateway/views"],
  cli: [
    ...["gateway/gateway.ts", "gateway/views", "gateway/given-secrets.ts"],
    ...["catalog", "config", "telemetry", "patterns", "runtime", "outgoing", "core", "wire"],
    ...["http/loopback.ts", "sign-in", "sign-in/types.ts", "state", "state/private-file.ts"],
    ...["upstream", "upstream/supervision/channel-kind.ts", "upstream/transport"],
  ],
  "main.ts": [
    "gateway/gateway.ts",
    ...[
      "features/index.ts",
      "cli",
      "upstream/supervision",
      "config",
      "state",
      "telemetry",
      "runtime",
      "core",
    ],
  ],
};

/** Which features import another one, and why. */
const FEATURES_OF_FEATURES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "features/sign-in": { "features/vault": "keeps the tokens there, encrypted" },
  "features/workers": {
    "features/admin": "the primary process listens for operators, and asks workers by their listeners",
  },
  "features/trust": { "features/scan": "what it finds holds definitions that are not approved" },
  "features/authorization-server": { "features/vault": "keeps its keys and grants there, encrypted" },
};

/** The folder of a feature, such as `features/audit`; undefined for files elsewhere. */
const featureOf = (file: string): string | undefined => /^features\/[^/]+(?=\/)/.exec(file)?.[0];

/** The longest entry of the table that `file` lies in; a file directly in `src` is its own. */
const layerOf = (file: string): string =>
  featureOf(file) ??
  Object.keys(MAY_LOOK_AT)
    .filter((layer) => file === layer || file.startsWith(`${layer}/`))
    .sort((a, b) => b.length - a.length)[0] ??
  file;

/** A feature may look at all that is none, except where the program starts. */
function mayLookAt(from: string, to: string): boolean {
  if (from === "features/index.ts") return to === "cli" || featureOf(`${to}/`) !== undefined;
  if (featureOf(`${from}/`) === undefined) return (MAY_LOOK_AT[from] ?? []).includes(to);
  const isFeature = to.startsWith("features/");
  return isFeature ? FEATURES_OF_FEATURES[from]?.[to] !== undefined : to !== "main.ts";
}

const isConsole = (file: string): boolean => file.startsWith("console/");
/** What the pages of a feature answer. */
const isRows = (file: string): boolean => /^features\/[^/]+\/rows\.ts$/.test(file);

const strays = (imports: readonly Import[]): readonly string[] =>
  imports
    .filter(({ target }) => target.endsWith(".ts"))
    .filter(({ file, target }) => {
      const [from, to] = [layerOf(file), layerOf(target)];
      return from !== to && !mayLookAt(from, to);
    })
    .map(({ file, target }) => `${file} -> ${target}`);

const withoutComments = (text: string): string =>
  text.replace(/\/\*[\s\S]*?\*\//g, "").replace(/^\s*\/\/.*$/gm, "");

/** Every circle of files that import each other at run time, as a list of paths that end where they begin. */
function circles(imports: readonly Import[]): readonly string[] {
  const edges = new Map<string, string[]>();
  for (const { file, target, typeOnly } of imports) {
    if (!typeOnly) edges.set(file, [...(edges.get(file) ?? []), target]);
  }
  const found: string[] = [];
  const done = new Set<string>();
  const walk = (file: string, path: readonly string[]): void => {
    const start = path.indexOf(file);
    if (start >= 0) found.push([...path.slice(start), file].join(" -> "));
    if (start >= 0 || done.has(file)) return;
    for (const target of edges.get(file) ?? []) walk(target, [...path, file]);
    done.add(file);
  };
  for (const file of edges.keys()) walk(file, []);
  return found;
}

describe("the source tree", () => {
  test("every folder imports only from lower layers", () => {
    expect(strays(importsOf("src"))).toEqual([]);
  });

  test("no file outside of features knows one, but the list of them, where the program starts, and the console rows of pages", () => {
    const knowing = importsOf("src")
      .filter(({ file, target, typeOnly }) => !(isConsole(file) && isRows(target) && typeOnly))
      .filter(({ file, target }) => target.startsWith("features/") && featureOf(file) === undefined)
      .map(({ file, target }) => `${file} -> ${target}`)
      .filter((arrow) => !/^features\/index\.ts -> features\/[^/]+\/feature\.ts$/.test(arrow));
    expect(knowing).toEqual(["main.ts -> features/index.ts"]);
  });

  test("no files import each other in a cycle", () => {
    expect(circles(importsOf("src"))).toEqual([]);
  });

  test("no folders import each other in a cycle, not even for types", () => {
    const folderOf = (path: string): string => path.split("/").slice(0, -1)[0] ?? path;
    const arrows = importsOf("src")
      .filter(({ target }) => target.endsWith(".ts"))
      .map((each) => ({
        ...each,
        ...{ file: folderOf(each.file), target: folderOf(each.target), typeOnly: false },
      }));
    expect(circles(arrows.filter(({ file, target }) => file !== target))).toEqual([]);
  });

  test("the core of the program imports no package: it has no input and no output", () => {
    const heart = ["wire", "core"];
    const packages = importsOf("src")
      .filter(({ file, target }) => heart.includes(layerOf(file)) && !target.endsWith(".ts"))
      .filter(({ target }) => !target.startsWith("node:"));
    expect(packages).toEqual([]);
  });

  test("no layer between the edges names a revision of the protocol", () => {
    const between = ["core", "catalog", "routing", "resilience", "telemetry"];
    const knowing = filesOf("src")
      .filter(({ file }) => between.includes(file.split("/")[0] ?? ""))
      .filter(({ text }) => /["'`]20\d\d-\d\d-\d\d["'`]|[A-Z]_REVISIONS?\b/.test(withoutComments(text)))
      .map(({ file }) => file);
    expect(knowing).toEqual([]);
  });

  test("the program does not import the SDK, which is only a peer in tests", () => {
    const sdk = importsOf("src").filter(({ target }) => target.startsWith("@modelcontextprotocol/"));
    expect(sdk).toEqual([]);
  });
});

describe("the checks themselves", () => {
  test("an era that imports the other era is found, also by type-only imports", () => {
    const imports = readImports(
      "downstream/legacy/session.ts",
      'import type { A } from "../modern/a.js";\nimport { b } from "../edge.js";\nconst x = 1 as const;',
    );
    expect(strays(imports)).toEqual(["downstream/legacy/session.ts -> downstream/modern/a.ts"]);
  });

  test("a dynamic import and a re-export count as imports", () => {
    const imports = readImports(
      "catalog/catalog.ts",
      'export { a } from "../upstream/a.js";\nexport async function b() { return import("../routing/b.js"); }',
    );
    expect(strays(imports)).toEqual([
      "catalog/catalog.ts -> upstream/a.ts",
      "catalog/catalog.ts -> routing/b.ts",
    ]);
  });

  test("a folder that is not in the table is found", () => {
    expect(strays(readImports("helper/a.ts", 'import "../core/b.js";'))).toEqual([
      "helper/a.ts -> core/b.ts",
    ]);
  });

  test("a cycle of three files is found; a cycle of type imports is not", () => {
    const a = readImports("core/a.ts", 'import { b } from "./b.js";');
    const b = readImports("core/b.ts", 'import { c } from "./c.js";');
    const c = readImports("core/c.ts", 'import { a } from "./a.js";');
    expect(circles([...a, ...b, ...c])).toEqual(["core/a.ts -> core/b.ts -> core/c.ts -> core/a.ts"]);
    expect(circles([...a, ...b, ...readImports("core/c.ts", 'import type { A } from "./a.js";')])).toEqual(
      [],
    );
  });
});
