/** `cluster`: what the config makes of it, and which halves of it are refused, with their place. */
import { describe, expect, test } from "vitest";
import { readConfig } from "../../../src/config/read.js";
import { SECTIONS, testOf } from "../../support/features.js";

const state = "a secret of all replicas, 32 long";
const peers = { listen: "127.0.0.1:9001" };
const store = { url: "redis://127.0.0.1:6379" };

const read = (cluster: object, others: object = { keys: { state } }) =>
  readConfig(JSON.stringify({ ...others, cluster }), "/etc/cardea/cardea.json", {
    env: {},
    sections: SECTIONS,
  });

/** What the reader warns of. */
function warningsOf(others: object): readonly string[] {
  const found = readConfig(JSON.stringify({ keys: { state }, ...others }), "/etc/cardea.json", {
    ...{ env: {}, sections: SECTIONS },
  });
  return found.warnings.map(({ message }) => message);
}

function completed(cluster: object, others?: object) {
  const outcome = read(cluster, others);
  if (!outcome.ok || outcome.problems.length > 0)
    throw new Error(outcome.problems.map(({ message }) => message).join("\n"));
  return outcome;
}

describe("a cluster", () => {
  test("with a store shares limits on an outage, and adopts sessions", () => {
    expect(completed({ store, peers }).config.features.cluster).toEqual({
      store: { ...store, prefix: "cardea" },
      peers: { kind: "store", listen: { host: "127.0.0.1", port: 9001 } },
      onOutage: "share",
      adopt: true,
    });
  });

  test.each([
    ["dns:cardea-headless", 9001],
    ["dns:cardea-headless:9100", 9100],
  ])("without a store has the peers %s, and adopts nothing", (text, port) => {
    const byName = { peers: { kind: "dns", name: "cardea-headless", port }, onOutage: "share", adopt: false };
    expect(completed({ peers: text }).config.features.cluster).toEqual(byName);
    expect(completed({ store: "none", peers: text }).config.features.cluster).toEqual(byName);
  });

  test.each([["redis://127.0.0.1:6379"], [null], [1]])(
    "cannot have the store %j, and the error names the valid forms",
    (store) => {
      const outcome = read({ store, peers });
      expect(outcome.problems.map(({ message }) => message)).toEqual([
        'cluster.store must be an object or "none"',
      ]);
    },
  );

  test("keeps the certificates of peers and store, by their absolute paths", () => {
    const tls = { ca: "ca.pem", cert: "own.pem", key: "own.key" };
    const files = { ca: "/etc/cardea/ca.pem", cert: "/etc/cardea/own.pem", key: "/etc/cardea/own.key" };
    const { cluster } = completed({
      store: { url: "rediss://redis:6380", tls },
      peers: { listen: "[::]:9001", advertise: "https://one:9001", mtls: tls },
    }).config.features;
    expect(cluster).toMatchObject({
      store: { tls: files },
      peers: { listen: { host: "::", port: 9001 }, mtls: files },
    });
  });

  testOf("sign-in")("warns of sign-ins that its replicas do not share, and of nothing else", () => {
    const oauth = { type: "http", url: "https://linear.example/mcp", auth: { type: "oauth" } };
    const service = {
      ...{ type: "http", url: "https://build.example/mcp" },
      auth: { type: "client_credentials", clientId: "a", clientSecret: "b" },
    };
    const cluster = { store, peers };
    expect(warningsOf({ cluster, mcpServers: { service } })).toEqual([]);
    expect(warningsOf({ mcpServers: { linear: oauth } })).toEqual([]);
    expect(warningsOf({ cluster, mcpServers: { linear: oauth, service } })).toEqual([
      expect.stringMatching(
        /^replicas do not share the sign-ins to linear: a person signs in at each replica/,
      ),
    ]);
    const credentials = { key: Buffer.alloc(32, 1).toString("base64") };
    expect(warningsOf({ cluster, credentials, mcpServers: { linear: oauth } })).toEqual([]);
    const byName = { peers: "dns:cardea-headless" };
    expect(warningsOf({ cluster: byName, credentials, mcpServers: { linear: oauth } })).toEqual([
      expect.stringContaining("shared volume"),
    ]);
  });

  testOf("authorization-server")("warns of hosts that sign in at one of its replicas", () => {
    const auth = { signIn: { issuer: "https://login.example", clientId: "cardea", clientSecret: "s" } };
    const listen = { http: { publicUrl: "https://tools.example" } };
    expect(warningsOf({ cluster: { store, peers }, auth, listen })).toEqual([
      expect.stringContaining("a host that signed in at one replica is refused by the others"),
    ]);
  });

  test("needs no secret other than that of its peers", () => {
    const key = "at least 16 letters";
    expect(completed({ store, peers: { ...peers, key } }, {}).secrets).toContain(key);
  });

  test.each([
    ["no peers", { store }, /cluster\.peers/],
    ["peers that find each other nowhere", { peers }, /needs "store"/],
    ["adoption without records", { peers: "dns:a", adopt: true }, /cluster\.adopt needs "store"/],
    ["a wildcard address", { store, peers: { listen: "0.0.0.0:9001" } }, /needs "advertise"/],
    ["an https URL without certificates", { store, peers: { ...peers, advertise: "https://a:1" } }, /"mtls"/],
    ["certificates for an address without TLS", { store: { ...store, tls: {} }, peers }, /"rediss:"/],
    ["an address without a port", { store, peers: { listen: "127.0.0.1" } }, /address and a port/],
    ["a port that does not exist", { store, peers: { listen: "127.0.0.1:70000" } }, /above 65535/],
    ["a store that is none", { store: { url: "http://redis" }, peers }, /redis:\/\//],
  ])("refuses %s, with the place", (_what, cluster, message) => {
    const outcome = read(cluster);
    expect(outcome.problems).toEqual([
      expect.objectContaining({ message: expect.stringMatching(message), line: 1 }),
    ]);
  });

  test("refuses to be without a secret that all replicas share", () => {
    const outcome = read({ store, peers }, {});
    expect(outcome.problems.map(({ message }) => message)).toEqual([
      expect.stringContaining("needs a secret that all replicas share"),
    ]);
  });
});
