/**
 * Bundles build/ (what the compiler wrote) into dist/: at a start Node resolves and reads a few dozen files and not four hundred
 * (decision 49). Names of functions and lines stay unchanged. A module that is loaded by `import()` stays one that is.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { basename, join } from "node:path";
import { rolldown } from "rolldown";
import { root } from "./install.mjs";

/** What is loaded by its URL and not by an import, in the folders of the features of this build; it lies beside the chunks. */
const LOADED_BY_URL = ["document-thread", "renewal-process", "server-token-endpoint", "store-opener"];
/** What each start needs. These packages and what they depend on are in the bundle; all others are installed beside it. */
const BUNDLED = new Set(["commander", "cross-spawn", "jsonc-parser", "p-queue", "pino", "zod"]);

const chunks = readdirSync(`${root}build/features`, { recursive: true })
  .filter((file) => LOADED_BY_URL.includes(basename(file, ".js")) && file.endsWith(".js"))
  .map((file) => [`chunks/${basename(file, ".js")}`, `${root}build/features/${file}`]);
const building = await rolldown({
  input: { main: `${root}build/main.js`, ...Object.fromEntries(chunks) },
  platform: "node",
  // `jsonc-parser` is a UMD module otherwise.
  resolve: { mainFields: ["module", "main"] },
  external: (id, importer = "") => isExternal(id, importer.replaceAll("\\", "/")),
  // Their exports are used by name.
  preserveEntrySignatures: "allow-extension",
  // A comment before each module names its file: a hundredth of the package.
  experimental: { attachDebugInfo: "none" },
  onLog(level, log) {
    if (level === "warn") throw new Error(`bundling: ${log.message}`);
  },
});
const { output } = await building.write({
  dir: `${root}dist`,
  format: "esm",
  entryFileNames: "[name].js",
  chunkFileNames: "chunks/[name].js",
  // Shorter syntax and local variables, a fifth of the package; names of functions and lines stay, for stack traces and profiles.
  minify: { compress: true, mangle: { keepNames: true }, codegen: false },
  // Doc comments are for readers of src/: a sixth of the package.
  comments: { jsdoc: false },
});
await building.close();
writeFileSync(`${root}dist/THIRD-PARTY-LICENSES.txt`, licences(packagesIn(output)));

function isExternal(id, importer) {
  if (isBuiltin(id)) return true;
  const name = /^(@[^/]+\/[^/]+|[^./@][^/:]*)(?:\/|$)/.exec(id)?.[1];
  return name !== undefined && !BUNDLED.has(name) && !importer.includes("/node_modules/");
}

/** The names of the packages of which there are modules in the output. */
function packagesIn(output) {
  const modules = output.flatMap(({ moduleIds = [] }) => moduleIds.map((id) => id.replaceAll("\\", "/")));
  const names = modules.map((id) => /.*\/node_modules\/(@[^/]+\/[^/]+|[^/]+)\//.exec(id)?.[1]);
  return [...new Set(names)].filter((name) => name !== undefined).sort();
}

/** @throws Error for a package without a license file */
function licences(names) {
  const texts = names.map((name) => {
    const folder = join(root, "node_modules", name);
    const { version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
    if (file === undefined) throw new Error(`${name} has no license file`);
    return `${name} ${version} (${license})\n\n${readFileSync(join(folder, file), "utf8").trim()}\n`;
  });
  return `These packages are part of the files in this folder.\n\n${texts.join("\n----\n\n")}`;
}
