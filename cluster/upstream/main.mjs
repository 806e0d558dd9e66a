/**
 * The ledger as a process: `node main.mjs [HOST]` prints JSON with the URLs of a server of each era, and of `control`:
 * GET is the ledger, POST announces an update of the page.
 */
import { createServer } from "node:http";
import { serveHttp } from "../../test/support/server/http.mjs";
import { createLedgerServer, Ledger } from "./ledger.mjs";

const host = process.argv[2] ?? "127.0.0.1";
const ledger = new Ledger();
const [old, modern] = ["legacy", "modern"].map((era) => createLedgerServer(ledger, era));
// Connections stay open between calls: a gateway that finds one closed would try again, and cloud what is measured.
const options = { host, keepAliveMs: 120_000 };
const first = await serveHttp(old, options);
const second = await serveHttp(modern, { ...options, sessions: false });
const control = createServer((request, response) => {
  if (request.method === "POST") {
    old.turn();
    modern.turn();
  }
  response.writeHead(200, { "content-type": "application/json" });
  response.end(JSON.stringify({ runs: [...ledger.runs], questions: ledger.questions }));
});
await new Promise((resolve) => control.listen(0, "127.0.0.1", resolve));
const urls = { legacy: first.url, modern: second.url, control: `http://127.0.0.1:${control.address().port}` };
process.stdout.write(`${JSON.stringify(urls)}\n`);
