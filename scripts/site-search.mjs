/** Asks the search index of the built site (site/dist/) as its search box does: guides and reference stand before tables of measurements. */
import { readdirSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { root } from "./install.mjs";

const site = `${root}site/`;

/** What persons type, and which page has to come first. */
const QUERIES = [
  ["401", "/docs/troubleshooting"],
  ["install cursor", "/docs/start"],
  ["rate limit", "/docs/guides/limit-calls"],
  ["approval", "/docs/guides/approve-writes"],
  ["dead server", "/docs/troubleshooting"],
];

/** As VitePress asks for it: what its search box sets beside the options of the config. */
const OPTIONS = { fuzzy: 0.2, prefix: true, boost: { title: 4, text: 2, titles: 1 } };
const SHOWN = 5;

/** @returns the queries that find another page first, as sentences @throws Error if the site is not built */
export async function searchFaults() {
  const index = await searchIndex();
  return QUERIES.flatMap(([query, page]) => {
    const found = index.search(query).slice(0, SHOWN).map(pageOf);
    return found[0] === page ? [] : [`"${query}" finds ${found.join(", ")}, and not ${page} first`];
  });
}

/** Without its heading: `/docs/start#next` is `/docs/start`. */
const pageOf = ({ id }) => id.split("#", 1)[0].replace(/\.html$/, "");

async function searchIndex() {
  const folder = `${site}dist/assets/chunks/`;
  const name = readdirSync(folder).find((each) => each.startsWith("@localSearchIndexroot"));
  if (name === undefined) throw new Error("the site has no search index: is it built?");
  const load = async (path) => (await import(pathToFileURL(path).href)).default;
  const MiniSearch = await load(`${site}node_modules/minisearch/dist/es/index.js`);
  const { themeConfig } = await load(`${site}.vitepress/config.mjs`);
  return MiniSearch.loadJSON(await load(`${folder}${name}`), {
    fields: ["title", "titles", "text"],
    storeFields: ["title", "titles"],
    searchOptions: { ...OPTIONS, ...themeConfig.search.options.miniSearch.searchOptions },
  });
}

if (import.meta.url === `file://${process.argv[1]}`)
  for (const fault of await searchFaults()) console.error(fault);
