/**
 * http.mjs as a process of its own, for rows in which it has much to do. `node http-main.mjs [--era E] [--sse] [--strict]`; prints its URL.
 * `--strict`: turns down long URIs, and calls whose arguments name a status.
 */
import { parseArgs } from "node:util";
import { httpUpstream } from "./http.mjs";

const { values } = parseArgs({
  options: {
    era: { type: "string", default: "both" },
    sse: { type: "boolean", default: false },
    strict: { type: "boolean", default: false },
  },
});
/** Answers with the HTTP status that the arguments ask for, and a URI that is long with 431. */
function turnDown(_request, response, { params }) {
  const status = params?.arguments?.status ?? (params?.uri?.length > 1_000 ? 431 : undefined);
  if (status !== undefined) response.writeHead(status).end();
  return status !== undefined;
}
const { url } = await httpUpstream({ ...values, ...(values.strict && { intercept: turnDown }) });
process.stdout.write(`${url}\n`);
