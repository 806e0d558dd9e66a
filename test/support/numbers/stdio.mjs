/** The numbers server on a pipe: `node stdio.mjs ERA NUMBERS…`. */
import { serveStdio } from "../server/http.mjs";
import { numbersServer } from "./server.mjs";
import { readTagged, writeTagged } from "./tagged.mjs";

const [era, ...numbers] = process.argv.slice(2);
serveStdio(numbersServer(era, numbers), { codec: { parse: readTagged, stringify: writeTagged } });
