/** Hosts of every era over HTTP: how each opens, writes a request, gets its answer, and answers a question. */
import { Connection } from "./connection.mjs";

const META = "io.modelcontextprotocol/";
const CLIENT = { name: "bench", version: "1" };
const JSON_BODY = "content-type: application/json\r\n";
const ACCEPT = "accept: application/json, text/event-stream\r\n";

/**
 * Opens a host. `request(id, method, params, name)` resolves to `{ status, body }` of its answer, `listen()` opens
 * the stream on which the host hears of changes and resolves when it is there, and `end()` hangs up.
 * @param {"modern" | "legacy" | "sse"} era `sse` is the transport of 2024-11-05
 * @param options `key`: an API key; `name`: what it answers when a server asks who is there; without one it cannot
 * be asked
 */
export function openHost(url, era, options = {}) {
  return OPENERS[era](new URL(url), options);
}

const OPENERS = { modern: openModern, legacy: openLegacy, sse: openSse };

const credentials = (key) => (key === undefined ? "" : `authorization: Bearer ${key}\r\n`);
const answerTo = (name) => ({ action: "accept", content: { name } });

async function openModern(url, { key, name: ownName }) {
  const connection = new Connection(url);
  await connection.opened();
  const asked = ownName === undefined ? {} : { elicitation: { form: {} } };
  const _meta = {
    [`${META}protocolVersion`]: "2026-07-28",
    [`${META}clientInfo`]: CLIENT,
    [`${META}clientCapabilities`]: asked,
  };
  const fixed = `${JSON_BODY}${ACCEPT}${credentials(key)}mcp-protocol-version: 2026-07-28\r\n`;
  const streams = [];

  function exchange(id, method, params, name, hear, over = connection) {
    const target = name === undefined ? "" : `mcp-name: ${name}\r\n`;
    const body = JSON.stringify({ jsonrpc: "2.0", id, method, params: { ...params, _meta } });
    return over.send("POST", url.pathname, `${fixed}mcp-method: ${method}\r\n${target}`, body, hear);
  }

  async function answering(id, method, params, name) {
    const answer = await exchange(id, method, params, name);
    if (!answer.body.includes('"input_required"')) return answer;
    const { inputRequests, requestState } = JSON.parse(answer.body).result;
    const inputResponses = Object.fromEntries(
      Object.keys(inputRequests).map((question) => [question, answerTo(ownName)]),
    );
    return exchange(id, method, { ...params, inputResponses, requestState }, name);
  }

  return {
    request: ownName === undefined ? exchange : answering,
    async listen(heard = () => {}) {
      const stream = new Connection(url);
      streams.push(stream);
      await new Promise((resolve, reject) => {
        const hear = (data) => {
          if (data.includes("notifications/subscriptions/acknowledged")) resolve();
          else heard(data);
        };
        const filter = { notifications: { toolsListChanged: true } };
        const refused = ({ status, body }) => reject(new Error(`no stream: ${status} ${body}`));
        exchange(0, "subscriptions/listen", filter, undefined, hear, stream).then(refused, reject);
      });
    },
    /** Keeps the streams alone, as a host does that has nothing to ask. */
    rest: () => connection.end(),
    end() {
      for (const one of [connection, ...streams]) one.end();
    },
  };
}

async function openLegacy(url, { key, name: ownName }) {
  const connection = new Connection(url);
  await connection.opened();
  const head = `${JSON_BODY}${ACCEPT}${credentials(key)}`;
  const opening = await connection.send("POST", url.pathname, head, initialize("2025-11-25", ownName));
  if (opening.status !== 200) throw new Error(`initialize: ${opening.status} ${opening.body}`);
  const session = /\r\nmcp-session-id: *([^\r]+)/i.exec(opening.head)?.[1];
  const own = session === undefined ? "" : `mcp-session-id: ${session}\r\n`;
  const bound = `${own}mcp-protocol-version: 2025-11-25\r\n`;
  const fixed = `${head}${bound}`;
  await connection.send("POST", url.pathname, fixed, INITIALIZED);
  const answers = ownName === undefined ? undefined : new Connection(url);
  await answers?.opened();
  const streams = [];

  /** Answers what comes on the stream of a call before its answer does. */
  const hear =
    answers &&
    ((data) => {
      if (!data.includes('"method":"elicitation/create"')) return;
      const { id } = JSON.parse(data);
      const body = JSON.stringify({ jsonrpc: "2.0", id, result: answerTo(ownName) });
      // When it fails, the call has no answer, and the check of that says so.
      answers.send("POST", url.pathname, fixed, body).catch(() => {});
    });
  return {
    request: (id, method, params) =>
      connection.send(
        "POST",
        url.pathname,
        fixed,
        JSON.stringify({ jsonrpc: "2.0", id, method, params }),
        hear,
      ),
    async listen(heard = () => {}) {
      const stream = new Connection(url);
      streams.push(stream);
      await stream.opened();
      const accept = `accept: text/event-stream\r\n${credentials(key)}${bound}`;
      stream.send("GET", url.pathname, accept, "", heard).catch(() => {});
    },
    rest: () => connection.end(),
    end() {
      for (const one of [connection, answers, ...streams]) one?.end();
    },
  };
}

async function openSse(url, { key }) {
  const stream = new Connection(url);
  const posts = new Connection(url);
  await Promise.all([stream.opened(), posts.opened()]);
  const waiting = new Map();
  const fail = (error) => {
    for (const { reject } of waiting.values()) reject(error);
  };
  const place = await new Promise((resolve, reject) => {
    let known = false;
    const hear = (data) => {
      if (!known) resolve(new URL(data, url));
      else {
        // The id stands at either end of a message, as its server likes; ours are numbers.
        const id = Number(/"id":(\d+)[,}]/.exec(data.slice(0, 60))?.[1] ?? /"id":(\d+)\}$/.exec(data)?.[1]);
        waiting.get(id)?.resolve({ status: 200, head: "", body: Buffer.from(data, "latin1") });
        waiting.delete(id);
      }
      known = true;
    };
    const accept = `accept: text/event-stream\r\n${credentials(key)}`;
    const ended = (error) => {
      reject(error);
      fail(error);
    };
    stream
      .send("GET", url.pathname, accept, "", hear)
      .then(() => ended(new Error("the stream ended")), ended);
  });
  const post = (body) =>
    posts.send("POST", place.pathname + place.search, `${JSON_BODY}${credentials(key)}`, body);
  const ask = async (id, body) => {
    const answered = new Promise((resolve, reject) => waiting.set(id, { resolve, reject }));
    // Whoever is waited for in vain is told so by the POST.
    answered.catch(() => {});
    const taken = await post(body);
    if (taken.status >= 300) throw new Error(`status ${taken.status}: ${taken.body}`);
    return answered;
  };
  await ask(0, initialize("2024-11-05", undefined));
  await post(INITIALIZED);
  return {
    request: (id, method, params) => ask(id, JSON.stringify({ jsonrpc: "2.0", id, method, params })),
    async listen() {},
    end() {
      fail(new Error("hung up"));
      for (const one of [stream, posts]) one.end();
    },
  };
}

const INITIALIZED = '{"jsonrpc":"2.0","method":"notifications/initialized"}';

function initialize(protocolVersion, ownName) {
  const capabilities = ownName === undefined ? {} : { elicitation: { form: {} } };
  const params = { protocolVersion, capabilities, clientInfo: CLIENT };
  return JSON.stringify({ jsonrpc: "2.0", id: 0, method: "initialize", params });
}
