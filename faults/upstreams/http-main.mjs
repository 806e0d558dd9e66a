/** http.mjs as a process of its own, for rows in which it has much to do. `node http-main.mjs [--era E] [--sse]`; prints its URL. */
import { parseArgs } from "node:util";
import { httpUpstream } from "./http.mjs";

const { values } = parseArgs({
  options: { era: { type: "string", default: "both" }, sse: { type: "boolean", default: false } },
});
const { url } = await httpUpstream(values);
process.stdout.write(`${url}\n`);
