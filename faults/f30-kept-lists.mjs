/** F30: what is known of servers is on the disk; writers are killed, the disk is full, read-only, or holds something else. */
import { execFileSync, fork } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { ListFiles } from "../build/features/kept-lists/list-files.js";
import { Host } from "../test/support/host/host.mjs";
import { startGateway } from "./support/gateway.mjs";
import { serverOfWriter } from "./support/list-writer.mjs";
import { ms, pause, row, until } from "./support/row.mjs";
import { stdioServer } from "./support/servers.mjs";

const WRITER = fileURLToPath(new URL("support/list-writer.mjs", import.meta.url));

/** In one folder for all runs: each has a config in another one, which is the folder of its servers otherwise. */
const serverIn = ({ folder }, args = []) => stdioServer(args, { cwd: folder, start: "eager" });
const toolsOf = async ({ url }) => (await new Host(url, "modern").list("tools")).map(({ name }) => name);
const aboutLists = (gateway) =>
  gateway.log().filter(({ level, msg }) => level === "warn" && / lists /.test(` ${msg} `));

await row(
  "F30",
  "lists on the disk: writers killed, a disk that is full, read-only or holds something else",
  async (row) => {
    await killWriters(row, row.quick ? 50 : 300);
    await killGateways(row, row.quick ? 10 : 40);
    await spoilFiles(row);
    await useSmallDisk(row);
  },
);

/** A process that does nothing but write is killed at any moment; the file must be whole each time. */
async function killWriters(row, times) {
  const folder = join(row.folder, "writers");
  const warnings = [];
  const log = { error() {}, info() {}, debug() {}, warn: (_, sentence) => warnings.push(sentence) };
  let whole = 0;
  for (let at = 0; at < times; at += 1) {
    const writer = fork(WRITER, [folder], { stdio: "ignore" });
    await new Promise((resolve) => writer.once("message", resolve));
    await pause(Math.random() * 30);
    writer.kill("SIGKILL");
    await new Promise((resolve) => writer.once("exit", resolve));
    const known = new ListFiles({ folder, version: "0.0.0", log }).open(serverOfWriter).known;
    const items = known?.scopes.get("shared")?.get("tools")?.items ?? [];
    // All tools of one file have the number of its write.
    if (items.length > 0 && new Set(items.map(({ description }) => description)).size === 1) whole += 1;
  }
  const drafts = readdirSync(folder).filter((name) => name.endsWith(".tmp")).length;
  row.check("writers killed, and the file is whole afterwards", times, whole, whole === times);
  row.check("warnings about it", 0, warnings.length, warnings.length === 0);
  row.note(`${drafts} of ${times} writers were killed while they wrote`);
}

/** The gateway is killed while the lists of its servers change; the next one serves them at once. */
async function killGateways(row, times) {
  const state = join(row.folder, "killed");
  const config = { mcpServers: { one: serverIn(row, ["--era", "legacy"]), two: serverIn(row) } };
  let served = 0;
  let warned = 0;
  for (let at = 0; at < times; at += 1) {
    const gateway = await startGateway(config, { state });
    const host = new Host(gateway.url, "modern");
    const tools = (await host.list("tools")).map(({ name }) => name);
    if (tools.includes("one__echo") && tools.includes("two__echo")) served += 1;
    warned += aboutLists(gateway).length;
    const until = performance.now() + 500 + Math.random() * 1_500;
    while (performance.now() < until) await host.call("one__change", {});
    process.kill(gateway.pid, "SIGKILL");
    await gateway.program.exited;
  }
  row.check("gateways killed while lists change: the next one serves all", times, served, served === times);
  row.check("warnings about it", 0, warned, warned === 0);
}

/** Every file is replaced by something else. */
async function spoilFiles(row) {
  const state = join(row.folder, "spoiled");
  const folder = join(state, "cardea", "lists");
  const config = { mcpServers: { one: serverIn(row) } };
  const files = () =>
    readdirSync(folder)
      .filter((name) => name.endsWith(".lists"))
      .map((name) => join(folder, name));
  const learned = await startGateway(config, { state });
  await learned.met("one");
  await pause(1_500);
  await learned.stop();
  const [file] = files();
  const good = readFileSync(file);
  const spoils = {
    empty: Buffer.alloc(0),
    "cut in half": good.subarray(0, good.length / 2),
    "edited by hand": Buffer.from(good.toString().replace("echo", "ECHO")),
    "of another version": Buffer.from(good.toString().replace("cardea-lists 1 ", "cardea-lists 2 ")),
    random: Buffer.from(Array.from({ length: 5_000 }, () => Math.floor(Math.random() * 256))),
    "20 MiB": Buffer.alloc(20 * 1024 * 1024, good),
  };
  for (const [name, bytes] of Object.entries(spoils)) {
    writeFileSync(file, bytes);
    const gateway = await startGateway(config, { state });
    const tools = await toolsOf(gateway);
    const said = aboutLists(gateway);
    await gateway.stop();
    const isWhole = tools.includes("one__echo") && said.length === 1 && said[0].file === file;
    const figure = `${tools.length} tools, ${said.length} warning`;
    row.check(`a file that is ${name}`, "served, said once", figure, isWhole);
  }
  const restored = await startGateway(config, { state });
  row.check("afterwards", "no warning", `${aboutLists(restored).length}`, aboutLists(restored).length === 0);
  await restored.stop();
}

/** A file system of 64 KiB: full, and then read-only. */
async function useSmallDisk(row) {
  const disk = join(row.folder, "disk");
  mkdirSync(disk);
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=64k,mode=700", "tmpfs", disk], { stdio: "ignore" });
  } catch {
    row.note("a full and a read-only disk: not evaluated, a file system cannot be mounted here");
    return;
  }
  row.own({ stop: async () => execFileSync("umount", [disk]) });
  const config = { mcpServers: { one: serverIn(row), two: serverIn(row, ["--era", "legacy"]) } };
  const filler = join(disk, "filler");
  try {
    writeFileSync(filler, Buffer.alloc(1024 * 1024));
  } catch {
    // The part that fits stays.
  }
  const full = await startGateway(config, { state: disk });
  await full.met("one", "two");
  const tools = await toolsOf(full);
  await pause(1_500);
  const said = aboutLists(full);
  await full.stop();
  const isServed = tools.includes("one__echo") && tools.includes("two__echo");
  row.check(
    "a disk that is full",
    "served, said once",
    `${tools.length} tools, ${said.length} warning`,
    isServed && said.length === 1,
  );
  row.check("and the warning names", "ENOSPC", said[0]?.msg ?? "nothing", /ENOSPC/.test(said[0]?.msg));

  execFileSync("rm", [filler]);
  const learned = await startGateway(config, { state: disk });
  await learned.met("one", "two");
  await pause(1_500);
  await learned.stop();
  execFileSync("mount", ["-o", "remount,ro", disk]);
  const reading = await startGateway(config, { state: disk });
  const { ms: time } = await until("all tools", async () => {
    const names = await toolsOf(reading);
    return names.includes("one__echo") && names.includes("two__echo");
  });
  await reading.met("one", "two");
  const later = aboutLists(reading);
  await reading.stop();
  row.timing("a disk that is read-only: lists of the last run", "<= 300 ms", ms(time), time <= 300);
  row.check("warnings about it, as nothing has changed", "<= 1", later.length, later.length <= 1);
}
