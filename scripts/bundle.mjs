/**
 * Bundles build/ (what the compiler wrote) into dist/: at a start Node resolves and reads a few dozen files and not four hundred
 * (decision 49). The code is not minified. A module that is loaded by `import()` stays one that is.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { rolldown } from "rolldown";
import { root } from "./install.mjs";

/** What is loaded by its URL and not by an import: the name of the file beside the chunks, and its module. */
const LOADED_BY_URL = {
  "document-thread": "upstream/openapi/document-thread.js",
  "renewal-process": "sign-in/renewal-process.js",
  "server-token-endpoint": "sign-in/server-token-endpoint.js",
};
/** Packages of many small files, or needed by each start; every other one is installed beside the program. */
const BUNDLED = ["zod", "p-queue", "p-timeout", "eventemitter3"];

/** Writes dist/main.js, dist/chunks/ and dist/THIRD-PARTY-LICENSES.txt. */
async function bundle() {
  const chunks = Object.entries(LOADED_BY_URL).map(([name, module]) => [
    `chunks/${name}`,
    `${root}build/${module}`,
  ]);
  const building = await rolldown({
    input: { main: `${root}build/main.js`, ...Object.fromEntries(chunks) },
    platform: "node",
    external: (id, _importer, isResolved) =>
      !isResolved && !isOwn(id) && !BUNDLED.some((name) => isPartOf(id, name)),
    // Their exports are used by name.
    preserveEntrySignatures: "allow-extension",
    onLog(level, log) {
      if (level === "warn") throw new Error(`bundling: ${log.message}`);
    },
  });
  await building.write({
    dir: `${root}dist`,
    format: "esm",
    entryFileNames: "[name].js",
    chunkFileNames: "chunks/[name].js",
    minify: false,
  });
  await building.close();
  writeFileSync(`${root}dist/THIRD-PARTY-LICENSES.txt`, licences());
}

const isOwn = (id) => id.startsWith(".") || id.startsWith("/") || /^[A-Za-z]:[\\/]/.test(id);
const isPartOf = (id, name) => id === name || id.startsWith(`${name}/`);

/** @throws Error for a package without a licence file */
function licences() {
  const texts = BUNDLED.map((name) => {
    const folder = join(root, "node_modules", name);
    const { version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
    if (file === undefined) throw new Error(`${name} has no licence file`);
    return `${name} ${version} (${license})\n\n${readFileSync(join(folder, file), "utf8").trim()}\n`;
  });
  return `These packages are part of the files in this folder.\n\n${texts.join("\n----\n\n")}`;
}

await bundle();
