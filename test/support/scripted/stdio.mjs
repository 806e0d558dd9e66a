/** A scripted server on its standard streams: `node stdio.mjs legacy|modern LEDGER-FILE [REVISION]`. */
import { appendFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { legacyConversation } from "./legacy.mjs";
import { modernServer } from "./modern.mjs";
import { createWorld } from "./world.mjs";

const [era, ledger, revision] = process.argv.slice(2);
const world = createWorld((entry) => appendFileSync(ledger, `${JSON.stringify(entry)}\n`));
const send = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);
const receive = era === "legacy" ? legacyConversation(world, { revision }, send).receive : serveModern();
createInterface({ input: process.stdin }).on("line", (line) => void receive(JSON.parse(line)));

function serveModern() {
  const serve = modernServer(world);
  const running = new Map();
  return async (message) => {
    const { id, method, params } = message;
    if (id === undefined) {
      if (method === "notifications/cancelled") running.get(params?.requestId)?.abort();
      else world.note("heard", { method });
      return;
    }
    if (params?._meta?.["io.modelcontextprotocol/protocolVersion"] === undefined) {
      send({ jsonrpc: "2.0", id, error: { code: -32602, message: "the request says no revision" } });
      return;
    }
    const stop = new AbortController();
    running.set(id, stop);
    const say = (named, content) => send({ jsonrpc: "2.0", method: named, params: content });
    const response = await serve(message, say, stop.signal);
    running.delete(id);
    if (!stop.signal.aborted) send(response);
  };
}
