/** Wires on bare sockets: Streamable HTTP for load generators, and HTTP+SSE of 2024-11-05. */
import { Connection } from "./connection.mjs";
import { isResponse, mirrored, mixedWire, UnexpectedStatus } from "./wires.mjs";

const JSON_BODY = { "content-type": "application/json" };

const linesOf = (headers) =>
  Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join("");

const fromLatin1 = (data) => JSON.parse(Buffer.from(data, "latin1"));

/** Keep-alive connections to one origin; each serves one exchange at a time. */
function connectionsTo(url) {
  const target = new URL(url);
  const idle = [];
  const open = new Set();
  return {
    /** Sends a request on a connection that is free; see `Connection.send`. */
    async send(method, path, headers, body, listener) {
      let connection = idle.pop();
      if (connection === undefined || connection.isClosed) {
        open.delete(connection);
        connection = new Connection(target);
        open.add(connection);
      }
      const response = await connection.send(method, path, headers, body, listener);
      idle.push(connection);
      return response;
    },
    endIdle() {
      for (const connection of idle.splice(0)) {
        connection.end();
        open.delete(connection);
      }
    },
    end() {
      for (const connection of open) connection.end();
    },
  };
}

/** What came of a request, parsed when it is read: a load generator looks at the bytes of large responses only. */
class Exchange {
  constructor({ status, head, body }) {
    Object.assign(this, { status, head, body, answers: 1 });
  }
  get text() {
    return this.body.toString();
  }
  /** The response. Undefined where the body is not JSON. */
  get message() {
    try {
      return JSON.parse(this.body);
    } catch {
      return undefined;
    }
  }
  get messages() {
    return [this.message];
  }
}

/** Streamable HTTP at the smallest cost for a load generator. `close` cuts the connections and leaves the session. */
export function socketWire(url, always = {}) {
  const { pathname: path } = new URL(url);
  const connections = connectionsTo(url);
  const accept = { accept: "application/json, text/event-stream" };
  const ofTarget = new Map();
  let bound = { ...always };
  let fixed = linesOf({ ...JSON_BODY, ...accept, ...bound });

  /** The headers that mirror a message; written once for each method and name. */
  function mirroredLines(message) {
    const { method, params } = message;
    const target = `${method} ${params?.name ?? params?.uri}`;
    let lines = ofTarget.get(target);
    if (lines === undefined) {
      lines = linesOf(mirrored(message));
      ofTarget.set(target, lines);
    }
    return lines;
  }

  const post = (message, listener) =>
    connections.send("POST", path, fixed + mirroredLines(message), JSON.stringify(message), listener);

  /** The session and the revision that later requests carry. */
  function bind(exchange) {
    const session = /\r\nmcp-session-id: *([^\r]+)/i.exec(exchange.head)?.[1];
    const version = exchange.message?.result?.protocolVersion;
    bound = {
      ...bound,
      ...(session !== undefined && { "mcp-session-id": session }),
      ...(version !== undefined && { "mcp-protocol-version": version }),
    };
    fixed = linesOf({ ...JSON_BODY, ...accept, ...bound });
  }

  return {
    onPipe: false,
    async exchange(message, { onMessage } = {}) {
      const onEvent =
        onMessage &&
        ((data) => {
          const one = fromLatin1(data);
          if (!isResponse(one)) onMessage(one);
        });
      const exchange = new Exchange(await post(message, { onEvent }));
      if (message.method === "initialize") bind(exchange);
      return exchange;
    },
    async post(message) {
      const { status, body } = await post(message);
      if (status !== 202) throw new UnexpectedStatus(status, body.toString());
    },
    stream(message, { onMessage = () => {} } = {}) {
      return new Promise((resolve, reject) => {
        const own = connectionsTo(url);
        let accepted = false;
        const onHead = (status, head) => {
          accepted = /\r\ncontent-type: *text\/event-stream/i.test(head);
          if (accepted) resolve({ status, headers: {}, stop: async () => own.end() });
        };
        const listener = { onHead, onEvent: (data) => onMessage(fromLatin1(data)) };
        const opening =
          message === undefined
            ? own.send("GET", path, linesOf({ accept: "text/event-stream", ...bound }), "", listener)
            : own.send("POST", path, fixed + mirroredLines(message), JSON.stringify(message), listener);
        opening.then(({ status, body }) => reject(new UnexpectedStatus(status, body.toString())), reject);
      });
    },
    /** Closes all connections but those of streams, as a host does that has nothing to request. */
    rest: connections.endIdle,
    close: async () => connections.end(),
  };
}

/** HTTP+SSE of 2024-11-05: `url` is that of the event stream; `headers` go with every request. */
export async function sseWire(url, headers = {}) {
  const stream = connectionsTo(url);
  const posts = connectionsTo(url);
  const { pathname, search } = new URL(url);
  let endpoint;
  const write = async (message, more) => {
    const lines = linesOf({ ...JSON_BODY, ...headers, ...more });
    const { status, body } = await posts.send("POST", endpoint, lines, JSON.stringify(message));
    if (status >= 300) throw new UnexpectedStatus(status, body.toString());
  };
  const wire = mixedWire(write, async () => {
    stream.end();
    posts.end();
  });
  await new Promise((resolve, reject) => {
    const onEvent = (data) => {
      if (endpoint !== undefined) return wire.receive(fromLatin1(data));
      const target = new URL(data, url);
      endpoint = target.pathname + target.search;
      resolve();
    };
    const end = (error) => {
      reject(error);
      wire.fail(new Error("the wire is closed"));
    };
    const lines = linesOf({ accept: "text/event-stream", ...headers });
    stream
      .send("GET", pathname + search, lines, "", { onEvent })
      .then(({ status, body }) => end(new UnexpectedStatus(status, body.toString())), end);
  });
  return wire;
}
