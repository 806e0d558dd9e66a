/** Builds the documentation site into site/dist/, and asks its search: `npm run site`; its packages are installed in site/ only. */
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, rmSync } from "node:fs";
import { root } from "./install.mjs";
import { searchFaults } from "./site-search.mjs";

/** The pages, under the paths that they have in the repository, so that their links hold. */
const PAGES = [
  "README.md",
  "ARCHITECTURE.md",
  "CHANGELOG.md",
  "CONTRIBUTING.md",
  "SECURITY.md",
  "docs",
  "config/reference.md",
  "bench",
  "dashboards",
];

const site = `${root}site`;
rmSync(`${site}/pages`, { recursive: true, force: true });
for (const path of PAGES)
  cpSync(`${root}${path}`, `${site}/pages/${path}`, { recursive: true, filter: isPage });
// Examples that pages link to, served unchanged.
cpSync(`${root}config`, `${site}/pages/public/config`, {
  recursive: true,
  filter: (path) => !path.endsWith(".md"),
});
const npm = (...args) => {
  const { status } = spawnSync("npm", ["--prefix", site, ...args], {
    stdio: "inherit",
    shell: process.platform === "win32",
  });
  if (status !== 0) process.exit(1);
};
if (!existsSync(`${site}/node_modules/vitepress`)) npm("install", "--no-save", "--no-audit", "--no-fund");
npm("run", "build");
const faults = await searchFaults();
for (const fault of faults) console.error(`the search of the site: ${fault}`);
if (faults.length > 0) process.exit(1);

function isPage(path) {
  return !/\.[^./]+$/.test(path) || /\.(md|svg|png)$/.test(path);
}
