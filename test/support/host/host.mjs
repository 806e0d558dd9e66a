/** The host of all tests, fault scripts and benchmarks: either era, over any wire, with every member of every message. */
import { httpWire, newAgent, UnexpectedStatus } from "./wires.mjs";

export { newAgent };

const MODERN = "2026-07-28";
const META = "io.modelcontextprotocol/";
const INFO = { name: "cardea-test-host", version: "1.0.0" };
const REFUSED = { code: -1, message: "the user refused" };

export const LISTS = {
  tools: "tools/list",
  prompts: "prompts/list",
  resources: "resources/list",
  resourceTemplates: "resources/templates/list",
};

/** The reserved keys that every modern request carries. */
export const modernMeta = ({ capabilities = {}, logLevel, info = INFO } = {}) => ({
  [`${META}protocolVersion`]: MODERN,
  [`${META}clientCapabilities`]: capabilities,
  [`${META}clientInfo`]: info,
  ...(logLevel !== undefined && { [`${META}logLevel`]: logLevel }),
});

const subscriptionOf = ({ params }) => params?._meta?.[`${META}subscriptionId`];

export class Host {
  #lastId = 0;
  #introduction = {};
  #options;

  /** @param over a URL, or a wire */
  constructor(over, era, { agent = newAgent(), headers, ...options } = {}) {
    const isUrl = typeof over === "string" || over instanceof URL;
    this.wire = isUrl ? httpWire(over, headers, { agent }) : over;
    this.agent = agent;
    this.era = era;
    this.#options = options;
    /** The reserved keys of each request; a legacy host has none. */
    this.meta = era === "modern" ? modernMeta(options) : {};
  }

  /** Opens the session of a legacy host. A modern host has nothing to open. */
  async open() {
    if (this.era === "modern") return this;
    const { capabilities = {}, revision = "2025-11-25", info = INFO } = this.#options;
    const params = { protocolVersion: revision, capabilities, clientInfo: info };
    this.#introduction = resultOf(await this.send("initialize", "initialize", params));
    await this.notify("notifications/initialized");
    return this;
  }

  /** Loads what a modern server says of itself; a legacy one has said it in its answer to `initialize`. */
  async discover() {
    if (this.era === "modern")
      this.#introduction = resultOf(await this.send("discover", "server/discover", {}));
    return this;
  }

  introduction() {
    const { capabilities = {}, instructions, serverInfo, _meta } = this.#introduction;
    return { capabilities, instructions, serverInfo: serverInfo ?? _meta?.[`${META}serverInfo`] ?? {} };
  }

  get session() {
    return this.wire.session;
  }

  /** The headers of a request, for those who write it themselves. */
  headersOf(method, name) {
    const params = { ...(name !== undefined && { name }), _meta: this.meta };
    return {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      ...this.wire.headersOf({ method, params }),
    };
  }

  /** The message that a request is. */
  message(id, method, sent = {}) {
    const { throughCallTool = false } = this.#options;
    const params = throughCallTool && method === "tools/call" ? wrapped(sent) : sent;
    const full = this.era === "modern" ? { ...params, _meta: { ...this.meta, ...params._meta } } : params;
    return { jsonrpc: "2.0", id, method, params: full };
  }

  /** The next id of a request; `idOf` of the options makes something else of the number. */
  nextId() {
    this.#lastId += 1;
    return this.#options.idOf?.(this.#lastId) ?? this.#lastId;
  }

  /** Sends a request; resolves to everything that came, whatever it is. Rejects when the connection fails. */
  exchange(method, params, { id = this.nextId(), ...options } = {}) {
    return this.wire.exchange(this.message(id, method, params), options);
  }

  /** Sends a request with this id; resolves to its response. @throws UnexpectedStatus where none came */
  async send(id, method, params, options) {
    const exchange = await this.exchange(method, params, { ...options, id });
    const { message, status } = exchange;
    if (message !== undefined) return message;
    const { text, messages } = exchange;
    if (status === 200 && text === "") throw new Error("the stream ended before the response");
    throw new UnexpectedStatus(status, text === "" ? JSON.stringify(messages) : text);
  }

  /** Sends a request; resolves to its result or its error. */
  async request(method, params) {
    const { result, error } = await this.send(this.nextId(), method, params);
    return error === undefined ? { result } : { error };
  }

  call(name, args = {}, { meta, ...options } = {}) {
    const params = { name, arguments: args, ...(meta !== undefined && { _meta: meta }) };
    return this.exchange("tools/call", params, options);
  }

  notify(method, params) {
    return this.wire.post({ jsonrpc: "2.0", method, ...(params !== undefined && { params }) });
  }

  /** Answers a question of a legacy server; `answer` throws where the user refuses. */
  async respond(question, answer) {
    const given = await answered(question, answer);
    const reply = given === undefined ? { error: REFUSED } : { result: given };
    await this.wire.post({ jsonrpc: "2.0", id: question.id, ...reply });
  }

  /**
   * Sends a request and answers the questions on the way; resolves to the response and to what came before it. A modern
   * host can only leave out an answer that the user refuses. `onRound` gets each `input_required` result; `idOf` gives the
   * id of each round.
   */
  async converse(method, params, answer, { onRound, idOf, ...options } = {}) {
    const received = [];
    const onMessage = (message) => {
      received.push(message);
      options.onMessage?.(message);
      if (message.method !== undefined && message.id !== undefined) void this.respond(message, answer);
    };
    const id = options.id ?? idOf?.() ?? this.nextId();
    const response = await this.send(id, method, params, { ...options, onMessage });
    const { resultType, inputRequests = {}, requestState } = response.result ?? {};
    if (resultType !== "input_required") return { response, received };
    onRound?.(response.result);
    const answers = await Promise.all(
      Object.entries(inputRequests).map(async ([key, question]) => [key, await answered(question, answer)]),
    );
    const inputResponses = Object.fromEntries(answers.filter(([, given]) => given !== undefined));
    const { inputResponses: _, requestState: __, ...first } = params;
    const again = { ...first, inputResponses, ...(requestState !== undefined && { requestState }) };
    const rest = await this.converse(method, again, answer, { ...options, onRound, idOf, id: undefined });
    return { response: rest.response, received: [response, ...received, ...rest.received] };
  }

  /** All pages of a list; none where the server does not have the method. */
  async list(list) {
    const items = [];
    let params = {};
    for (;;) {
      const { result, error } = await this.request(LISTS[list], params);
      if (error?.code === -32601) return [];
      if (result === undefined) throw new Error(`${LISTS[list]}: ${error.message}`);
      items.push(...result[list]);
      if (result.nextCursor === undefined) return items;
      params = { cursor: result.nextCursor };
    }
  }

  /** Opens the stream on which changes are announced: `subscriptions/listen`, or the GET of a legacy host. */
  async stream({
    notifications = { toolsListChanged: true },
    id = `listen-${this.nextId()}`,
    ...options
  } = {}) {
    if (this.era === "legacy") return this.wire.stream(undefined, options);
    const opened = await this.wire.stream(
      this.message(id, "subscriptions/listen", { notifications }),
      options,
    );
    if (!this.wire.onPipe) return opened;
    const stop = async () => {
      await opened.stop();
      await this.notify("notifications/cancelled", { requestId: id });
    };
    return { ...opened, stop };
  }

  /**
   * Follows changes until the result is called. A legacy host gets all that the server advertised, and subscribes to
   * resources one by one; a modern one has subscribed when the promise resolves.
   */
  async follow(filter, onMessage) {
    const { resourceSubscriptions = [] } = filter;
    if (this.era === "legacy") {
      const stop = await opened(this.stream({ onMessage }));
      for (const uri of resourceSubscriptions)
        await this.send(`subscribe ${uri}`, "resources/subscribe", { uri });
      return stop;
    }
    const id = `listen-${this.nextId()}`;
    return new Promise((resolve, reject) => {
      const stop = opened(
        this.stream({
          id,
          notifications: filter,
          onMessage: (message) => {
            if (subscriptionOf(message) !== id) return;
            if (message.method === "notifications/subscriptions/acknowledged") resolve(stop);
            else onMessage(message);
          },
        }),
      );
      stop.catch(reject);
    });
  }

  /** Cancels a request: by a notification, or by `abort` where the end of the stream is the cancel. */
  async cancel(id, abort) {
    if (this.era === "modern" && !this.wire.onPipe) abort.abort();
    else await this.notify("notifications/cancelled", { requestId: id });
  }

  close() {
    return this.wire.close();
  }
}

/** The parameters of a call of the same tool through `call_tool`. */
function wrapped({ name, arguments: args, ...params }) {
  const inner = { name, ...(args !== undefined && { arguments: args }) };
  return { ...params, name: "call_tool", arguments: inner };
}

/** The answer to a question; undefined where the user refuses. */
async function answered(question, answer) {
  try {
    return await answer(question);
  } catch {
    return undefined;
  }
}

/** What ends a stream that has been opened. @throws UnexpectedStatus where it was refused */
async function opened(opening) {
  const { status, refusal, stop } = await opening;
  if (refusal !== undefined) throw new UnexpectedStatus(status, await refusal);
  return stop;
}

function resultOf({ result, error }) {
  if (result === undefined) throw new Error(`refused: ${JSON.stringify(error)}`);
  return result;
}

/** A host with its session. @param over a URL, or a wire */
export const openHost = (over, era, options) => new Host(over, era, options).open();

/** The first text of a tool's result. */
export const textOf = (message) => message?.result?.content?.[0]?.text;

/** The gateway's refusal, as it stands in a result or in an error. */
export const refusalOf = (message) =>
  message?.result?._meta?.["cardea/refusal"] ?? message?.error?.data?.cardea;
