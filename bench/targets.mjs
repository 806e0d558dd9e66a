/** What is measured: the pass-through, and Cardea in front of the same upstreams. Each resolves to `{ url, pid, stop }`. */
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { printed, start, stop } from "./processes.mjs";

const here = fileURLToPath(new URL(".", import.meta.url));

export async function httpUpstream({ tools = 0 } = {}) {
  const child = start(1, ["upstream-http.mjs", "--tools", String(tools)]);
  const [port] = await printed(child, "stdout", /^\d+$/);
  return { url: `http://127.0.0.1:${port}/mcp`, port, pid: child.pid, stop: () => stop(child) };
}

export async function passThrough(upstream) {
  const child = start(0, ["pass-through.mjs", upstream.port]);
  const [port] = await printed(child, "stdout", /^\d+$/);
  return { url: `http://127.0.0.1:${port}/mcp`, pid: child.pid, stop: () => stop(child) };
}

/** A server entry of Cardea's config for a stdio upstream, on the core of the upstreams. */
export const stdioServer = (tools = 0) => ({
  command: "taskset",
  args: ["-c", "1", process.execPath, join(here, "upstream-stdio.mjs"), "--tools", String(tools)],
});

/** Cardea with `servers` (as in `mcpServers`) and whatever else the config should say. */
export async function cardea(servers, rest = {}) {
  const folder = mkdtempSync(join(tmpdir(), "cardea-bench-"));
  const file = join(folder, "cardea.json");
  writeFileSync(file, JSON.stringify({ mcpServers: servers, ...rest }));
  const flags = ["serve", "--config", file, "--port", "0", "--admin-port", "0"];
  const child = start(0, [join(here, "../dist/main.js"), ...flags]);
  const [url] = await printed(child, "stderr", /http:\/\/[\d.]+:\d+\/mcp/);
  return { url, pid: child.pid, stop: () => stop(child) };
}
