/** A process with the token source of one principal, as each gateway and each worker has one. Its parent sends rounds. */

import { untilUp } from "../../build/core/shared-store.js";
import { Stop } from "../../build/core/stop.js";
import { openStore } from "../../build/features/cluster/store.js";
import { TokenSources } from "../../build/features/sign-in/credential-store.js";
import { Renewals } from "../../build/features/sign-in/renewals.js";
import { openVault } from "../../build/features/vault/vault.js";
import { tokenEndpointOf } from "./refresh-endpoint.mjs";

const log = { error() {}, warn() {}, info() {}, debug() {} };
const { folder, server, principal, tokenEndpoint, inProcess, keys, store } = JSON.parse(process.argv[2]);
const shared = store && (await openStore({ config: store, logger: log }));
if (shared) await untilUp(shared, 10_000);
const vault = await openVault({ folder, logger: log, keys, ...(shared && { shared }) });
const settings = { tokenEndpoint };
const module = new URL("refresh-endpoint.mjs", import.meta.url).href;
const endpoint = { ...tokenEndpointOf(settings), ...(!inProcess && { recipe: { module, settings } }) };
const renewals = new Renewals({ folder, keys, store }, log);
const sources = new TokenSources({
  vault,
  endpointOf: () => endpoint,
  log,
  counter: { tokenRefreshed() {} },
  ...(!inProcess && { renewals }),
});
const source = sources.source(server, principal);
const signal = new Stop();

/** A call to a server that refuses one token: with 401, as the end of its life would. */
async function call(refuse) {
  const header = source.header ?? (await source.obtain(signal));
  if (header !== refuse) return header;
  const challenge = 'Bearer error="invalid_token"';
  const next = await source.onRejected({ status: 401, challenge, sentHeader: header, attempts: 1 }, signal);
  if (typeof next === "string") return next;
  throw next;
}

process.on("message", async ({ refuse, calls }) => {
  const results = await Promise.allSettled(Array.from({ length: calls }, () => call(refuse)));
  process.send({
    headers: results.flatMap(({ status, value }) => (status === "fulfilled" ? [value] : [])),
    failures: results.flatMap(({ status, reason }) => (status === "rejected" ? [reason.message] : [])),
  });
});
// The parent has gone.
process.on("disconnect", () => process.exit());
await source.obtain(signal);
process.send("ready");
