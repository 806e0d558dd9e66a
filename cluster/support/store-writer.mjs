/**
 * An attacker that can write the store: it reads and keeps all values, and writes them again at other times and under other
 * names, and invented ones. It listens at addresses of its own, which answer themselves or pass on to the true replicas.
 */
import { randomBytes } from "node:crypto";
import { connect, createServer } from "node:net";
import { createClient } from "@redis/client";

/** What a host would take for the result of its call. */
export const FORGED = "forged by the writer of the store";
const MAX_KEPT = 200;
const ROUND_MS = 150;

/** An address of the attacker. `to`: the true replica to pass on to; without it, each request gets a forged result. */
async function listen(heard, to) {
  const sockets = new Set();
  const keep = (socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket)).on("error", () => socket.destroy());
  };
  const server = createServer((socket) => {
    heard.connections += 1;
    keep(socket);
    socket.on("data", (chunk) => heard.texts.push(chunk.toString("latin1")));
    if (to === undefined) {
      socket.on("data", (chunk) => {
        const id = /"id":("[^"]*"|\d+)/.exec(chunk.toString("latin1"))?.[1] ?? "1";
        const result = { content: [{ type: "text", text: FORGED }] };
        const body = `{"jsonrpc":"2.0","id":${id},"result":${JSON.stringify(result)}}`;
        const head = ["HTTP/1.1 200 OK", "content-type: application/json", `content-length: ${body.length}`];
        const peer = /cardea-peer: (\S+)/i.exec(chunk.toString("latin1"))?.[1];
        if (peer !== undefined) head.push(`cardea-peer: ${peer.replace(".hello.", ".proof.")}`);
        socket.write(`${head.join("\r\n")}\r\n\r\n${body}`);
      });
      return;
    }
    const { hostname, port } = new URL(to);
    const other = connect(Number(port), hostname);
    keep(other);
    other.on("data", (chunk) => heard.relayed.push(chunk.toString("latin1")));
    socket.pipe(other).pipe(socket);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${server.address().port}`;
  return {
    url,
    stop() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

const anyOf = (list) => list[Math.floor(Math.random() * list.length)];
const madeUp = () => `z${randomBytes(2).toString("hex")}`;
const registration = (schema, url) =>
  JSON.stringify({ schema, beat: 1e9, url, version: "0.0.0", isLeaving: false, startedAt: 1 });

/** @param peers the URLs of the true replicas' own listeners */
export async function startWriter(redis, peers) {
  const heard = { texts: [], relayed: [], connections: 0 };
  const addresses = [await listen(heard), ...(await Promise.all(peers.map((to) => listen(heard, to))))];
  const client = createClient({ url: redis.url });
  client.on("error", () => {});
  await client.connect();
  const run = (...words) => client.sendCommand(words.map(String));
  /** By key: fields of hashes, or texts, oldest first. */
  const kept = new Map();
  const channels = [];
  const spy = client.duplicate();
  spy.on("error", () => {});
  await spy.connect();
  await spy.pSubscribe("*", (message, channel) => {
    if (channels.length < MAX_KEPT) channels.push([channel, message]);
  });
  let writes = 0;
  let isRunning = true;

  async function look() {
    for (const key of await run("KEYS", "cardea:*")) {
      const type = await run("TYPE", key);
      if (type !== "hash" && type !== "string") continue;
      const value = type === "hash" ? await run("HGETALL", key) : await run("GET", key);
      const versions = kept.get(key) ?? [];
      const text = JSON.stringify(value);
      if (!versions.some((one) => one.text === text)) versions.push({ text, type, value });
      kept.set(key, versions.slice(-MAX_KEPT));
    }
  }
  async function put(key, { type, value }) {
    writes += 1;
    await run("DEL", key);
    if (type === "string") return run("SET", key, value, "PX", 60_000);
    const flat = Array.isArray(value) ? value : Object.entries(value).flat();
    if (flat.length > 0) await run("HSET", key, ...flat);
    return run("PEXPIRE", key, 60_000);
  }
  const withPrefix = (text) => [...kept].filter(([key]) => key.includes(text));
  const fieldsOf = ({ value }) => new Map(pairs(value));
  const UNTIL = "cardea:{replicas}:until";
  const INFO = "cardea:{replicas}:info";

  const moves = [
    /** Registrations: replicas that are made up, and addresses of the attacker for those that are not. */
    async function register() {
      const ids = [...fieldsOf({ value: await run("HGETALL", INFO) }).keys(), madeUp()];
      const id = anyOf(ids);
      await run("ZADD", UNTIL, Date.now() + 600_000, id);
      await run("HSET", INFO, id, registration(anyOf([1, 2, 3]), anyOf(addresses).url));
      writes += 1;
    },
    /** Those of other replicas, and of earlier times. */
    async function swapRegistrations() {
      const all = (kept.get(INFO) ?? []).flatMap((version) => [...fieldsOf(version)]);
      if (all.length === 0) return;
      const [[id], [, text]] = [anyOf(all), anyOf(all)];
      await run("ZADD", UNTIL, Date.now() + 600_000, id);
      await run("HSET", INFO, id, text);
      writes += 1;
    },
    /** With another address under the same seal. */
    async function changeRegistration() {
      const all = (kept.get(INFO) ?? []).flatMap((version) => [...fieldsOf(version)]);
      if (all.length === 0) return;
      const [id, text] = anyOf(all);
      await run("HSET", INFO, id, text.replace(/http:\/\/127\.0\.0\.1:\d+/, anyOf(addresses).url));
      writes += 1;
    },
    /** Owners: made up, without a seal, and those of other sessions and times. */
    async function changeOwner() {
      const [key, versions] = anyOf(withPrefix("session:")) ?? [];
      if (key === undefined) return;
      const others = withPrefix("session:").flatMap(([, list]) =>
        list.map((one) => fieldsOf(one).get("owner")),
      );
      const owner = anyOf([madeUp(), anyOf(others), fieldsOf(versions[0]).get("owner") ?? ""]);
      await run("HSET", key, "owner", owner ?? "");
      writes += 1;
    },
    /** Records of other sessions, of earlier times, and of sessions that have ended. */
    async function changeRecord() {
      const all = withPrefix("session:");
      const [key, versions] = anyOf(all) ?? [];
      if (key === undefined) return;
      await put(key, anyOf([anyOf(versions), anyOf(anyOf(all)[1])]));
    },
    /** Deleted values are written again. */
    async function replay() {
      const [key, versions] = anyOf([...kept].filter(([name]) => !name.includes("{replicas}"))) ?? [];
      if (key !== undefined) await put(key, anyOf(versions));
    },
    /** What versions before kept there, and what may be used once. */
    async function invent() {
      const digest = randomBytes(32).toString("base64url");
      const kind = anyOf(["approval", "era", "once"]);
      const value = anyOf(["1", crypto.randomUUID(), '{"legacy":{"transport":"http","learnedAt":1}}']);
      await put(`cardea:${kind}:${digest}`, { type: "string", value });
      for (const key of await run("KEYS", "cardea:once:*")) await run("DEL", key);
    },
    async function publish() {
      const [channel, message] = anyOf(channels) ?? ["cardea:approvals:revoked", "2.0.x.y"];
      const name = anyOf([
        channel,
        "cardea:approvals:revoked",
        "cardea:servers:lists:1",
        "cardea:hint:place",
      ]);
      await run("PUBLISH", name, anyOf([message, "2.0.x.y", "zzzzz a tools b"]));
      writes += 1;
    },
  ];

  const done = (async () => {
    while (isRunning) {
      await look();
      for (const move of moves) if (isRunning) await move();
      await new Promise((resolve) => setTimeout(resolve, ROUND_MS));
    }
  })();
  return {
    heard,
    get writes() {
      return writes;
    },
    /** Writes all values of these keys again. */
    async again(text) {
      for (const [key, versions] of withPrefix(text)) for (const version of versions) await put(key, version);
    },
    delete: async (pattern) => {
      for (const key of await run("KEYS", pattern)) await run("DEL", key);
    },
    /** Stops writing; what it has written stays. */
    async end() {
      isRunning = false;
      await done;
    },
    async stop() {
      isRunning = false;
      await done.catch(() => {});
      client.destroy();
      spy.destroy();
      for (const address of addresses) address.stop();
    },
  };
}

function pairs(value) {
  if (!Array.isArray(value)) return Object.entries(value);
  return value.flatMap((name, at) => (at % 2 === 0 ? [[name, value[at + 1]]] : []));
}
