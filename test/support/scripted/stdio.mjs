/** A scripted server on its standard streams: `node stdio.mjs legacy|modern LEDGER-FILE [REVISION]`. */
import { appendFileSync } from "node:fs";
import { serveStdio } from "../server/http.mjs";
import { legacyServer } from "./legacy.mjs";
import { modernServer } from "./modern.mjs";
import { createWorld } from "./world.mjs";

const [era, ledger, revision] = process.argv.slice(2);
const world = createWorld((entry) => appendFileSync(ledger, `${JSON.stringify(entry)}\n`));
serveStdio(era === "legacy" ? legacyServer(world, { revision }) : modernServer(world));
