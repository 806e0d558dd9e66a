/**
 * Bundles the console (src/console/) into dist/admin/console/: one script, one style sheet and an icon, named by the
 * digests of their contents, the page, and `files.json` with all names. Preact and uPlot become part of the script, and the look of
 * all pages (src/http/page-style.ts, as the compiler has written it) part of the style sheet.
 */
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { rolldown } from "rolldown";
import { logo, SHARED_STYLE } from "../build/http/page-style.js";
import { root } from "./install.mjs";

const source = `${root}src/console/`;
const target = `${root}dist/admin/console/`;
/** Packages that become part of the script. */
const BUNDLED = ["preact", "uplot"];

/** @returns the bytes of all files @throws Error for an import that cannot be resolved */
export async function buildConsole() {
  const building = await rolldown({
    input: `${source}main.tsx`,
    platform: "browser",
    tsconfig: `${source}tsconfig.json`,
    resolve: { extensionAlias: { ".js": [".ts", ".tsx", ".js"] } },
    onLog(level, log) {
      if (level === "warn") throw new Error(`bundling the console: ${log.message}`);
    },
  });
  const { output } = await building.generate({ format: "esm", minify: true, codeSplitting: false });
  await building.close();
  const read = (path) => readFileSync(path, "utf8");
  const styles = readdirSync(`${source}style`).sort();
  const css = [
    SHARED_STYLE,
    read(`${root}node_modules/uplot/dist/uPlot.min.css`),
    ...styles.map((name) => read(`${source}style/${name}`)),
  ].join("\n");
  const files = new Map();
  const add = (name, text) => {
    const [stem, ending] = name.split(".");
    const digest = createHash("sha256").update(text).digest("hex").slice(0, 10);
    files.set(`${stem}-${digest}.${ending}`, text);
    return `/${stem}-${digest}.${ending}`;
  };
  const page = read(`${source}index.html`)
    .replace("SCRIPT", add("console.js", `${licences()}${output[0].code}`))
    .replace("STYLE", add("console.css", css))
    .replace("ICON", add("icon.svg", logo('xmlns="http://www.w3.org/2000/svg"')));
  files.set("index.html", page);
  mkdirSync(target, { recursive: true });
  for (const [name, text] of files) writeFileSync(`${target}${name}`, text);
  writeFileSync(`${target}files.json`, JSON.stringify([...files.keys()]));
  return [...files.values()].reduce((sum, text) => sum + Buffer.byteLength(text), 0);
}

function licences() {
  const texts = BUNDLED.map((name) => readFileSync(`${root}node_modules/${name}/LICENSE`, "utf8").trim());
  return `/*!\n${BUNDLED.map((name, at) => `${name}\n\n${texts[at]}`).join("\n\n")}\n*/\n`;
}

if (import.meta.url === `file://${process.argv[1]}`) {
  console.error(`the console: ${await buildConsole()} bytes`);
}
