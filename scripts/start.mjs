/** `npm start`: installs what is missing, builds what has changed, and serves the example config; further flags are passed on. */
import { build } from "./build.mjs";
import { root } from "./install.mjs";

build({ onlyProgram: true });
const flags = process.argv.slice(2);
const config = flags.some((flag) => flag === "--config" || flag.startsWith("--config="))
  ? []
  : ["--config", `${root}config/cardea.jsonc`];
process.argv = [process.execPath, `${root}dist/main.js`, "serve", ...config, ...flags];
await import(`${root}dist/main.js`);
