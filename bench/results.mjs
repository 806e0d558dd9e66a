/** `results.md`: each command writes its own section, and says where and when it was measured. */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { cpus, release, totalmem } from "node:os";
import { fileURLToPath } from "node:url";
import { pinned } from "./processes.mjs";

const file = fileURLToPath(new URL("results.md", import.meta.url));
const ORDER = [
  "bench",
  "telemetry",
  "bench:cold",
  "bench:against",
  "bench:peers",
  "bench:curves",
  "bench:economy",
  "bench:cluster",
];
const HEAD = `# Results

Written by the commands named below; [README.md](README.md) says what they do. The baseline (pass-through)
is a reverse proxy on \`node:http\` without MCP, measured in the same run; ratios to it are comparable across machines.
`;

const git = (...args) => execFileSync("git", args, { encoding: "utf8" }).trim();
const versionOf = (name) =>
  JSON.parse(
    readFileSync(fileURLToPath(new URL(`../node_modules/${name}/package.json`, import.meta.url)), "utf8"),
  ).version;

/** What a figure is worth nothing without. `cores`: which processes ran where. */
export function circumstances(command, cores = pinned) {
  const commit =
    git("rev-parse", "--short", "HEAD") + (git("status", "--porcelain", "src") === "" ? "" : ", changed");
  const machine = `${cpus().length} × ${cpus()[0].model.trim()}, ${Math.round(totalmem() / 2 ** 30)} GiB, Linux ${release()}`;
  const versions = `Node ${process.version}, undici ${versionOf("undici")}`;
  return `\`${command}\`, commit ${commit}, ${new Date().toISOString().slice(0, 10)}; ${machine}; ${versions}; ${cores}`;
}

/** Puts `text` in place of the section of that command (`bench`, `bench:peers` …). */
export function writeSection(name, title, text) {
  const sections = new Map(existsSync(file) ? [...sectionsOf(readFileSync(file, "utf8"))] : []);
  sections.set(name, `<!-- ${name} -->\n## ${title}\n\n${text.trim()}\n<!-- end -->\n`);
  const known = ORDER.filter((section) => sections.has(section));
  writeFileSync(file, [HEAD, ...known.map((section) => sections.get(section))].join("\n"));
}

function* sectionsOf(text) {
  for (const [whole, name] of text.matchAll(/<!-- (\S+) -->\n[\s\S]*?<!-- end -->\n/g)) yield [name, whole];
}

/** How undisturbed it was. */
export function conditions({ rounds, repeated, disturbed, errors, firstError }) {
  const busy =
    disturbed === 0
      ? "none was disturbed by others at the end"
      : `in ${disturbed} others took more than 15 % of a core all the same`;
  const wrong = errors === 0 ? "" : ` ${errors} answers were wrong or missing; the first: ${firstError}.`;
  return `${rounds} rounds, ${repeated} of them measured again because others were busy; ${busy}.${wrong}`;
}
