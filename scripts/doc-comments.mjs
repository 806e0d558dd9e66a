/**
 * Which exports of src/ have a doc comment: a table by folder, and below it every export without one.
 * `npm run doc-comments -- core` takes one folder, `--json` prints the counts only; exits with 1 below the floor.
 */
import { readdirSync, readFileSync } from "node:fs";
import { sep } from "node:path";

/** The share of exports that have a doc comment, at the least. */
const FLOOR = 0.85;
/** A declaration that exports; Biome leaves it at the start of its line. Re-exports do not count. */
const EXPORT =
  /^export (?:default )?(?:abstract )?(?:async )?(function\*?|class|interface|type|const|let|enum) (\w+)/;

const source = new URL("../src/", import.meta.url);
const [only] = process.argv.slice(2).filter((flag) => !flag.startsWith("-"));

/** The exports of one file, each once: overloads share the comment of the first. */
function exportsOf(file) {
  const lines = readFileSync(new URL(file, source), "utf8").split("\n");
  const found = new Map();
  for (const [at, line] of lines.entries()) {
    const [, kind, name] = EXPORT.exec(line) ?? [];
    if (name === undefined || found.has(name)) continue;
    found.set(name, { file, line: at + 1, kind, name, documented: lines[at - 1]?.endsWith("*/") === true });
  }
  return [...found.values()];
}

const files = readdirSync(source, { recursive: true, encoding: "utf8" })
  .map((path) => path.split(sep).join("/"))
  .filter((path) => path.endsWith(".ts") && (only === undefined || path.startsWith(`${only}/`)));
const exported = files.sort().flatMap(exportsOf);

const folders = {};
for (const { file, documented } of exported) {
  const folder = file.split("/")[0];
  folders[folder] ??= { exports: 0, documented: 0 };
  folders[folder].exports += 1;
  if (documented) folders[folder].documented += 1;
}

const documented = exported.filter((one) => one.documented).length;
if (process.argv.includes("--json")) {
  console.log(JSON.stringify(folders));
} else {
  console.table(folders);
  for (const { file, line, kind, name, documented: has } of exported) {
    if (!has) console.log(`src/${file}:${line} ${kind} ${name}`);
  }
  const share = documented / exported.length;
  console.log(
    `${documented} of ${exported.length} exports have a doc comment (${(100 * share).toFixed(1)} %)`,
  );
  process.exitCode = share < FLOOR ? 1 : 0;
}
