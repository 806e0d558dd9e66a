/** F32: the audit log when the gateway is killed under load, when the disk is full, and when it is a second gateway's. */
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Host } from "../test/support/host/host.mjs";
import { MAIN, startGateway } from "./support/gateway.mjs";
import { pause, row, until } from "./support/row.mjs";
import { stdioServer } from "./support/servers.mjs";

const HOSTS = 16;

const configOf = (file) => ({
  mcpServers: { one: stdioServer() },
  audit: { file, required: true, arguments: "full", rotate: { size: "1MB" } },
});
const linesOf = (folder) =>
  execFileSync("sh", ["-c", `cat "${folder}"/audit.jsonl.0* "${folder}"/audit.jsonl 2>/dev/null || true`], {
    encoding: "utf8",
    maxBuffer: 1e9,
  })
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line));
const verify = (file) => {
  try {
    return execFileSync(process.execPath, [MAIN, "audit", "verify", file], { encoding: "utf8" });
  } catch (error) {
    return `${error.stdout}${error.stderr}`;
  }
};
const echo = async (host, text) =>
  (await host.request("tools/call", { name: "one__echo", arguments: { text } })).result;
const refusalOf = (result) => result?._meta?.["cardea/refusal"]?.code;

await row("F32", "the audit log: gateways killed under load, a full disk, a second gateway", async (row) => {
  await killUnderLoad(row, row.quick ? 5 : 40);
  await secondGateway(row);
  await fullDisk(row);
});

/** No answer that a host has read is without its line. */
async function killUnderLoad(row, times) {
  const folder = join(row.folder, "killed");
  mkdirSync(folder);
  const file = join(folder, "audit.jsonl");
  const answered = [];
  let torn = 0;
  for (let at = 0; at < times; at += 1) {
    const gateway = await startGateway(configOf(file));
    await gateway.met("one");
    const hosts = Array.from({ length: HOSTS }, () => new Host(gateway.url, "modern"));
    let isOver = false;
    const calling = hosts.map(async (host, index) => {
      for (let call = 0; !isOver; call += 1) {
        const text = `${at}/${index}/${call}`;
        // The kill ends the call, and with it the loop.
        const result = await echo(host, text).catch(() => undefined);
        if (result === undefined) return;
        if (refusalOf(result) === undefined) answered.push(text);
      }
    });
    await pause(200 + Math.random() * 300);
    process.kill(gateway.pid, "SIGKILL");
    await Promise.all(calling.map((one) => Promise.race([one, pause(2_000)])));
    isOver = true;
    await gateway.stop();
    if (!readFileSync(file, "utf8").endsWith("\n")) torn += 1;
  }
  const last = await startGateway(configOf(file));
  await last.met("one");
  await last.stop();
  const written = new Set(linesOf(folder).map((line) => line.arguments?.text));
  const lost = answered.filter((text) => !written.has(text)).length;
  row.check("gateways killed; answers that hosts have read without a line", 0, lost, lost === 0);
  row.check("answers read", "> 0", answered.length, answered.length > 0);
  const verdict = verify(file);
  row.check("cardea audit verify", "ok", verdict.trim().split(/\s/)[0], verdict.startsWith("ok"));
  row.note(`${times} kills, ${torn} of them left an unfinished line; ${verdict.trim()}`);
}

/** One file is written by one process. */
async function secondGateway(row) {
  const file = join(row.folder, "audit.jsonl");
  const first = row.own(await startGateway(configOf(file)));
  await first.met("one");
  const second = row.own(await startGateway(configOf(file)));
  await second.met("one");
  const refused = refusalOf(await echo(new Host(second.url, "modern"), "second"));
  row.check("a call of the second gateway", "audit_unavailable", refused, refused === "audit_unavailable");
  await first.stop();
  const host = new Host(second.url, "modern");
  await until("the second gateway to write", async () => refusalOf(await echo(host, "later")) === undefined);
  await second.stop();
  row.check("verify", "ok", verify(file).split(/\s/)[0], verify(file).startsWith("ok"));
}

/** A file system of 1 MiB that is full, and then is not. */
async function fullDisk(row) {
  const disk = join(row.folder, "disk");
  mkdirSync(disk);
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=1m,mode=700", "tmpfs", disk], { stdio: "ignore" });
  } catch {
    row.note("a full disk: not evaluated, a file system cannot be mounted here");
    return;
  }
  row.own({ stop: async () => execFileSync("umount", [disk]) });
  const file = join(disk, "audit.jsonl");
  const gateway = await startGateway(configOf(file));
  await gateway.met("one");
  const host = new Host(gateway.url, "modern");
  const before = refusalOf(await echo(host, "before"));
  const filler = join(disk, "filler");
  try {
    writeFileSync(filler, Buffer.alloc(2 * 1024 * 1024));
  } catch {
    // The part that fits stays.
  }
  let refused;
  await until("a refusal", async () => {
    refused = refusalOf(await echo(host, "x".repeat(4_000)));
    return refused !== undefined;
  });
  const readyz = await (await fetch(new URL("/readyz", gateway.url))).text();
  rmSync(filler);
  await until("calls to be made again", async () => refusalOf(await echo(host, "after")) === undefined);
  await gateway.stop();
  row.check("a call before", "made", before ?? "made", before === undefined);
  row.check("a call with a full disk", "audit_unavailable", refused, refused === "audit_unavailable");
  row.check("/readyz says", "ENOSPC", readyz.slice(0, 200), readyz.includes("ENOSPC"));
  row.check("verify afterwards", "ok", verify(file).trim(), verify(file).startsWith("ok"));
}
