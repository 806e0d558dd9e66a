/** Every request leaves by `src/outgoing/`: through the proxy, with the TLS settings of its server. */
import { expect, test } from "vitest";
import { filesOf } from "./imports.js";

/** Towards this machine and other replicas, never through a proxy: the admin listener, workers, peers. */
const WITHOUT_PROXY =
  /^(?:features\/(?:cluster|workers)|downstream\/(?:forward-to-owner|owner-request)\.ts|console|cli\/(?:gateway-client|follow-events)\.ts)/;

const OPENS = [
  /\bnew (?:Agent|Pool|Client|ProxyAgent|EnvHttpProxyAgent)\(/,
  /\bbuildConnector\(/,
  /\b(?:globalThis|window)\.fetch\(/,
  /(?<![\w.#])await fetch\(/,
  /\brequest as \w+ ?\} from "node:https?"/,
];

test("no other file opens connections over HTTP", () => {
  const found = filesOf("src")
    .filter(({ file }) => !file.startsWith("outgoing/") && !WITHOUT_PROXY.test(file))
    .filter(({ text }) => OPENS.some((pattern) => pattern.test(text)))
    .filter(
      ({ text }) =>
        !/fetch: (?:GuardedFetch|typeof fetchJson)|\bfetch\b.*(?:GuardedFetch|#options)/.test(text),
    )
    .map(({ file }) => file);
  expect(found).toEqual(["upstream/transport/http-pool.ts"]);
});
