/** A registry for npm with one package, which is an MCP server, and npm's own files in a folder of the test. */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

const DAY_MS = 86_400_000;
export const NAME = "@acme/echo-server";

/** Answers what a host asks first; with `needs: a file` it ends without this file. */
const server = (version: string, needsScript: boolean) => `#!/usr/bin/env node
import { existsSync } from "node:fs";
import { createInterface } from "node:readline";
if (${needsScript} && !existsSync(new URL("./built", import.meta.url))) { console.error("built is missing"); process.exit(1); }
const results = {
  initialize: { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo: { name: "echo", version: "${version}" } },
  "tools/list": { tools: [{ name: "echo", inputSchema: { type: "object" } }] },
};
createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method } = JSON.parse(line);
  if (id === undefined) return;
  const result = results[method];
  const answer = result === undefined ? { error: { code: -32601, message: "no such method" } } : { result };
  process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, ...answer }) + "\\n");
});
`;

export interface Registry {
  /** By which npm uses it, and no file of the person. */
  readonly env: Readonly<Record<string, string>>;
  readonly folder: string;
  /** Ends it: nothing answers at its address then. */
  stop(): void;
}

/** `ages`: of the versions, in days. `needsScript`: the server ends unless its install script has run. */
export async function registry(
  ages: Readonly<Record<string, number>>,
  { needsScript = false }: { readonly needsScript?: boolean } = {},
): Promise<Registry> {
  const folder = mkdtempSync(join(tmpdir(), "cardea-registry-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const tarballs = new Map<string, Buffer>();
  for (const version of Object.keys(ages)) tarballs.set(version, packed(folder, version, needsScript));
  const listener = createServer((request, response) => {
    const version = /-(\d[\d.]*)\.tgz$/.exec(request.url ?? "")?.[1];
    const tarball = version === undefined ? undefined : tarballs.get(version);
    if (tarball !== undefined) response.end(tarball);
    else if (decodeURIComponent(request.url ?? "") === `/${NAME}`)
      response.setHeader("content-type", "application/json").end(JSON.stringify(document()));
    else response.writeHead(404).end("{}");
  });
  const stop = (): void => {
    listener.close();
    listener.closeAllConnections();
  };
  await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
  onTestFinished(stop);
  const url = `http://127.0.0.1:${(listener.address() as AddressInfo).port}`;
  const newest = Object.entries(ages).toSorted(([, a], [, b]) => a - b)[0]?.[0];
  const document = () => ({
    name: NAME,
    "dist-tags": { latest: newest },
    time: Object.fromEntries(
      Object.entries(ages).map(([version, days]) => [
        version,
        new Date(Date.now() - days * DAY_MS).toISOString(),
      ]),
    ),
    versions: Object.fromEntries(
      [...tarballs].map(([version, bytes]) => [
        version,
        {
          ...manifest(version, needsScript),
          ...(needsScript && { hasInstallScript: true }),
          dist: {
            tarball: `${url}/${NAME}/-/echo-server-${version}.tgz`,
            integrity: `sha512-${createHash("sha512").update(bytes).digest("base64")}`,
          },
        },
      ]),
    ),
  });
  const env = {
    HOME: folder,
    npm_config_registry: url,
    npm_config_cache: join(folder, "cache"),
    npm_config_audit: "false",
  };
  return { env, folder, stop };
}

const manifest = (version: string, needsScript: boolean) => ({
  name: NAME,
  version,
  type: "module",
  bin: { "echo-server": "server.js" },
  ...(needsScript && { scripts: { postinstall: "node -e \"fs.writeFileSync('built', '')\"" } }),
});

function packed(folder: string, version: string, needsScript: boolean): Buffer {
  const inside = join(folder, version, "package");
  mkdirSync(inside, { recursive: true });
  writeFileSync(join(inside, "package.json"), JSON.stringify(manifest(version, needsScript)));
  writeFileSync(join(inside, "server.js"), server(version, needsScript), { mode: 0o755 });
  const file = join(folder, `${version}.tgz`);
  execFileSync("tar", ["-czf", file, "-C", join(folder, version), "package"]);
  return readFileSync(file);
}
