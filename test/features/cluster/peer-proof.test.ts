/** Connections between replicas: each side proves the key before the other one gives it anything. */
import { createServer as createHttp, request } from "node:http";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { SILENT } from "../../../src/core/logger.js";
import { PeerConnections, UnprovenPeer } from "../../../src/features/cluster/peer-connections.js";
import { PeerKey } from "../../../src/features/cluster/peer-key.js";
import { admitPeers, REPLICA_PATH } from "../../../src/features/cluster/peer-listener.js";
import { addressOf, confirmation, hello } from "../../../src/features/cluster/peer-proof.js";
import { probeReplica } from "../../../src/features/cluster/probe-replica.js";
import { send } from "../../support/http-host.js";

const SECRET = "the key of the cluster";
const ANN = { id: "ann", groups: [], claims: {} };

async function listening(server: Server): Promise<string> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket) => sockets.add(socket));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A replica with this key; `advertised`: its own URL, by default where it listens. */
async function replica(
  options: {
    readonly id?: string;
    readonly secret?: string;
    readonly now?: number;
    readonly advertised?: (url: string) => string | Promise<string>;
  } = {},
) {
  const { id = "bbbbb", secret = SECRET, now, advertised = (url: string) => url } = options;
  const admitted: unknown[] = [];
  let own = "";
  const admit = admitPeers({
    ...{ id, logger: SILENT, answers: { serve: (_request, response) => response.end("{}") } },
    key: new PeerKey(secret, now === undefined ? undefined : () => now),
    page: () => ({ id, version: "1", isLeaving: false, startedAt: 0, keys: "", now: 0 }),
    isOwnAddress: (address) => address === own,
  });
  const url = await listening(
    createHttp((request, response) => {
      const admission = admit(request, response);
      if (admission === undefined) return;
      admitted.push(admission);
      response.end("served");
    }),
  );
  const named = await advertised(url);
  own = addressOf(named);
  return { url, named, admitted };
}

function connections(secret = SECRET, id = "aaaaa"): PeerConnections {
  const made = new PeerConnections({ id, key: new PeerKey(secret) });
  onTestFinished(() => made.close());
  return made;
}

/** Forwards a request of a host to the replica `id` at `url`. */
function forward(from: PeerConnections, url: string, id = "bbbbb", to = id): Promise<string> {
  const { hostname: host, port } = new URL(url);
  const signed = { from: from.id, to, hops: 1, principal: ANN };
  const [name, value] = from.key.requests.header(signed, "POST", "/mcp");
  return new Promise((resolve, reject) => {
    const options = { host, port, path: "/mcp", method: "POST", headers: { [name]: value } };
    const sent = request({ ...options, agent: from.agentOf(url, id) }, (response) => {
      response.setEncoding("utf8").on("data", (text: string) => resolve(`${response.statusCode} ${text}`));
    });
    sent.once("error", reject).end("the body");
  });
}

test("a replica that proves the key gets the request and its principal, several on one connection", async () => {
  const { url, admitted } = await replica();
  const from = connections();
  for (let at = 0; at < 3; at += 1) expect(await forward(from, url)).toBe("200 served");
  expect(admitted).toEqual([1, 2, 3].map(() => ({ hops: 1, principal: ANN })));
});

/** What listens at an attacker's address: `answer` is written for each request that it gets. */
async function attacker(answer: (text: string) => string | undefined) {
  const heard: string[] = [];
  const url = await listening(
    createServer((socket) => {
      socket
        .on("error", () => {})
        .on("data", (chunk) => {
          heard.push(String(chunk));
          const said = answer(String(chunk));
          if (said !== undefined) socket.write(said);
        });
    }),
  );
  return { url, heard };
}
const ok = (headers = "") => `HTTP/1.1 200 OK\r\n${headers}content-length: 0\r\n\r\n`;

test.each([
  ["answers as any server does", () => ok()],
  ["answers without a proof", () => ok("cardea-peer: 2.proof.e30.x\r\n")],
  ["says back what it got", (text: string) => ok(/cardea-peer: .*\r\n/.exec(text)?.[0])],
  [
    "calls the hello a proof",
    (text: string) => ok(/cardea-peer: .*\r\n/.exec(text)?.[0].replace("hello", "proof")),
  ],
  ["answers as replicas of earlier versions do", () => "HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n"],
  ["accepts everything", () => "HTTP/1.1 204 No Content\r\n\r\n"],
  ["redirects", () => "HTTP/1.1 307 T\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n"],
  ["speaks no HTTP", () => "x".repeat(20_000)],
])("what listens at an address and %s gets neither the request nor its principal", async (_, answer) => {
  const { url, heard } = await attacker(answer);
  await expect(forward(connections(), url)).rejects.toThrow(UnprovenPeer);
  expect(heard.length).toBeGreaterThan(0);
  for (const text of heard) expect(text).not.toMatch(/\/mcp|the body|ann|principal/);
});

/** Passes all bytes on to the true replica. */
async function relay(to: string): Promise<string> {
  const { hostname, port } = new URL(to);
  return listening(
    createServer((socket) => {
      const other = connect(Number(port), hostname);
      socket.on("error", () => other.destroy()).pipe(other);
      other.on("error", () => socket.destroy()).pipe(socket);
    }),
  );
}

test("a relay to the true replica gets nothing: the replica proves itself for its own address alone", async () => {
  const { url, admitted } = await replica();
  await expect(forward(connections(), await relay(url))).rejects.toThrow(/its own address is another one/);
  expect(admitted).toEqual([]);
});

const byName = (url: string): string => `http://localhost:${new URL(url).port}`;

test("a name that leads to a relay gets nothing, although the replica has that name", async () => {
  const { named, admitted } = await replica({ advertised: async (url) => byName(await relay(url)) });
  await expect(forward(connections(), named)).rejects.toThrow(/leads to .*, and its replica has taken/);
  expect(admitted).toEqual([]);
});

test("a replica proves itself for its name too", async () => {
  const { named, admitted } = await replica({ advertised: byName });
  expect(await forward(connections(), named)).toBe("200 served");
  expect(admitted).toHaveLength(1);
});

test.each([
  ["with another key", { secret: "another" }, /key of the cluster is another one/],
  ["that is another replica", { id: "ccccc" }, /it is another replica/],
  ["whose clock differs by more than ten minutes", { now: Date.now() + 660_000 }, /clock differs/],
  ["with another address", { advertised: () => "http://10.0.0.7:9001" }, /its own address is another one/],
])("a replica %s gets no request", async (_, options, message) => {
  const { url, admitted } = await replica(options);
  await expect(forward(connections(), url)).rejects.toThrow(message);
  expect(admitted).toEqual([]);
});

test("a replica whose clock differs by ten minutes gets requests: one is five minutes fast, the other five slow", async () => {
  for (const skew of [-600_000, 600_000]) {
    const { url, admitted } = await replica({ now: Date.now() + skew });
    expect(await forward(connections(), url)).toBe("200 served");
    expect(admitted).toHaveLength(1);
  }
});

test("the status page says why, to find the fault", async () => {
  const { url } = await replica({ secret: "another" });
  expect(await probeReplica(url, connections())).toMatchObject({ kind: "refused", reason: "key" });
  const { url: free } = await replica();
  expect(await probeReplica(free, connections())).toMatchObject({ kind: "page", page: { id: "bbbbb" } });
});

test("a request without a proof on its connection is refused, even with a signature that is valid", async () => {
  const { url, admitted } = await replica();
  const { key } = connections();
  const [, value] = key.requests.header(
    { from: "aaaaa", to: "bbbbb", hops: 1, principal: ANN },
    "POST",
    "/mcp",
  );
  for (const headers of [{}, { "cardea-peer": value }, { authorization: "Bearer s3cret" }])
    expect((await send(`${url}/mcp`, { headers, body: "{}" })).status).toBe(403);
  expect((await send(`${url}${REPLICA_PATH}`, { method: "GET" })).status).toBe(403);
  expect(admitted).toEqual([]);
});

test("a signature for another replica, or by another one than has proven itself, is refused", async () => {
  const { url, admitted } = await replica();
  expect(await forward(connections(), url, "bbbbb", "ccccc")).toMatch(/^403/);
  const from = connections();
  const forged = { ...from, id: "zzzzz", key: from.key, agentOf: from.agentOf.bind(from) };
  expect(await forward(forged as unknown as PeerConnections, url)).toMatch(/^403/);
  expect(admitted).toEqual([]);
});

test("a recorded exchange proves nothing on another connection", async () => {
  const { url, admitted } = await replica();
  const { key } = connections();
  const said = hello(key, { from: "aaaaa", address: addressOf(url) }, "");
  const speak = async (values: readonly string[]): Promise<string> => {
    const socket = connect(Number(new URL(url).port), "127.0.0.1");
    onTestFinished(() => void socket.destroy());
    let last = "";
    for (const value of values) {
      socket.write(`GET /cluster/proof HTTP/1.1\r\nhost: x\r\ncardea-peer: ${value}\r\n\r\n`);
      last = await new Promise<string>((resolve) => socket.once("data", (chunk) => resolve(String(chunk))));
    }
    return last;
  };
  const [, , text = ""] = (/cardea-peer: (\S+)/i.exec(await speak([said.value]))?.[1] ?? "").split(".");
  expect(text).not.toBe("");
  // The nonce of the other side is another one on each connection.
  const confirm = confirmation(key, said.text, text, "");
  expect(await speak([said.value, confirm])).toMatch(/^HTTP\/1\.1 403/);
  expect(admitted).toEqual([]);
});
