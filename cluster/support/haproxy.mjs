/** HAProxy in front of replicas, and as the address of whichever Redis is the master. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { start } from "../../faults/support/processes.mjs";
import { until } from "../../faults/support/row.mjs";
import { freePort, programs } from "./debian.mjs";

const DEFAULTS = `
global
  maxconn 8000
defaults
  timeout connect 1s
  timeout client 10m
  timeout server 10m
  timeout queue 10s
  timeout check 1s
  # Only what has reached no replica is sent again: a tool must not run twice.
  retries 3
  retry-on conn-failure
  option redispatch
`;

/** As in config/haproxy.cfg. */
const BY_ISSUER = `
  stick-table type string len 8 size 10k expire 24h
  stick match req.hdr(mcp-session-id),field(1,-)
  stick store-response res.hdr(mcp-session-id),field(1,-)`;

/**
 * Round robin over the replicas that say they are ready.
 * @param {{ host: string, port: number }[]} replicas
 * @param {{ sticky?: boolean }} options `sticky`: sessions go to the replica that their id names
 */
export async function startBalancer(replicas, { sticky = false } = {}) {
  const port = await freePort();
  const servers = replicas.map((one, i) => `  server r${i} ${one.host}:${one.port}`);
  const text = `${DEFAULTS}
frontend hosts
  mode http
  bind 127.0.0.1:${port}
  default_backend replicas
backend replicas
  mode http
  balance roundrobin${sticky ? BY_ISSUER : ""}
  option httpchk
  http-check send meth GET uri /readyz
  http-check expect status 200
  default-server check inter 200ms fall 1 rise 1
${servers.join("\n")}
`;
  const program = await run(text, () => answers(`http://127.0.0.1:${port}/readyz`));
  return { ...program, url: `http://127.0.0.1:${port}/mcp` };
}

/** One address for several Redis: it leads to the one that says it is the master, as the usual setup with Sentinel does. */
export async function startMasterAddress(redises) {
  const port = await freePort();
  const servers = redises.map((one, i) => `  server redis${i} ${one.host}:${one.port}`);
  const text = `${DEFAULTS}
listen redis
  mode tcp
  bind 127.0.0.1:${port}
  option tcp-check
  tcp-check send "info replication\\r\\n"
  tcp-check expect string role:master
  default-server check inter 200ms fall 1 rise 1 on-marked-down shutdown-sessions
${servers.join("\n")}
`;
  const program = await run(text, () => accepts(port));
  return { ...program, url: `redis://127.0.0.1:${port}` };
}

/** Resolves when `isUp` resolves to true: once a backend is available. */
async function run(text, isUp) {
  const { haproxy } = programs("haproxy");
  const folder = mkdtempSync(join(tmpdir(), "cardea-haproxy-"));
  const file = join(folder, "haproxy.cfg");
  writeFileSync(file, text);
  // In the foreground, as one process: it ends with its pid.
  const program = start(haproxy, ["-db", "-f", file]);
  const stop = async () => {
    await program.stop("SIGTERM", 2_000);
    rmSync(folder, { recursive: true, force: true });
  };
  const look = () => {
    if (program.exit !== undefined) throw new Error(`HAProxy ended: ${program.stderr}`);
    return isUp();
  };
  try {
    await until("HAProxy", look, 20_000, 50);
  } catch (error) {
    await stop();
    throw error;
  }
  return { pid: program.pid, stop };
}

const accepts = (port) =>
  new Promise((resolve) => {
    const socket = connect({ host: "127.0.0.1", port });
    socket.once("connect", () => resolve(true)).once("error", () => resolve(false));
    socket.once("connect", () => socket.destroy());
  });

async function answers(url) {
  try {
    return (await fetch(url, { signal: AbortSignal.timeout(1_000) })).status === 200;
  } catch {
    return false;
  }
}
