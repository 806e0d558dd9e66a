/**
 * A legacy server that asks for roots, and keeps them for its connection, in the way that its mode says:
 *
 *   start    asks when the handshake is over
 *   late     asks 100 ms later, or in the first call that needs them
 *   later    the same after 400 ms
 *   first    asks in the first call that needs them
 *   call     asks in every call that needs them, and keeps nothing
 *   changed  as `start`, and again at each `notifications/roots/list_changed`
 *   never    does not ask
 *
 * `node remembering.mjs MODE [DELAY-MS]` serves its standard streams, and answers `initialize` and lists only after the delay.
 * `openRemembering(MODE)` serves Streamable HTTP in the process of a test.
 */
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { serveHttp, serveStdio } from "../server/http.mjs";

const LATE_MS = { late: 100, later: 400 };
const ASK_ONCE = ["first", "late", "later"];
const ASK_AT_START = ["start", "late", "later", "changed"];
const NOTE = "memo://note";
/** Over HTTP the event stream is opened after the handshake: what is sent before is lost. */
const STREAM_MS = 30;
const FORM = {
  message: "Who are you?",
  requestedSchema: { type: "object", properties: { name: { type: "string" } } },
};
const MESSAGES = [{ role: "user", content: { type: "text", text: "Which number?" } }];
const text = (value) => ({ content: [{ type: "text", text: JSON.stringify(value) }] });
const tool = (name) => ({ name, inputSchema: { type: "object" } });

let connections = 0;

/** @param {string} mode @param {number} delayMs @param {number} startMs */
export function rememberingServer(mode, delayMs = 0, startMs = 0) {
  const bySession = new Map();
  return (message, say, { session }) => {
    if (message.method === "initialize" || !bySession.has(session))
      bySession.set(
        session,
        conversation(
          { mode, delayMs, startMs },
          (said) => session.say(said),
          async () => session.whenOpen?.(),
        ),
      );
    return bySession.get(session)(message, say);
  };
}

/** The same over Streamable HTTP. */
export const openRemembering = (mode, delayMs = 0) => serveHttp(rememberingServer(mode, delayMs, STREAM_MS));

function conversation({ mode, delayMs, startMs }, sayAnytime, heard) {
  connections += 1;
  const where = `${process.pid}/${connections}`;
  const waiting = new Map();
  let client = {};
  let roots;
  let isFollowed = false;
  let lastId = 0;

  const ask = (method, params, say) =>
    new Promise((resolve) => {
      lastId += 1;
      const id = `q${lastId}`;
      waiting.set(id, resolve);
      say({ id, method, ...(params && { params }) });
    });
  const mayAsk = () => client.capabilities?.roots !== undefined;
  const askRoots = async (say) => {
    const { result, error } = await ask("roots/list", undefined, say);
    return result === undefined ? { refused: error } : (result.roots ?? []).map(({ uri }) => uri);
  };
  const keepRoots = async (say) => {
    const given = await askRoots(say);
    if (Array.isArray(given)) roots = given;
  };
  const currentRoots = async (say) => {
    if (!mayAsk()) return null;
    if (mode === "call") return askRoots(say);
    if (ASK_ONCE.includes(mode) && roots === undefined) await keepRoots(say);
    return roots ?? null;
  };

  const tools = {
    where: () => ({ where }),
    client: () => client,
    /** Notifies of the note, if that is followed on this connection. */
    touch: async ({ needsRoots }, say) => {
      if (needsRoots) await currentRoots(say);
      if (isFollowed) sayAnytime({ method: "notifications/resources/updated", params: { uri: NOTE } });
      return { isFollowed, knowsRoots: roots !== undefined };
    },
    roots: async (_args, say) => ({ roots: await currentRoots(say), where }),
    ask: async (_args, say) => (await ask("elicitation/create", FORM, say)).result?.content ?? null,
    all: async ({ label }, say) => {
      const given = await currentRoots(say);
      const { result: form } = await ask("elicitation/create", FORM, say);
      const { result: thought } = await ask(
        "sampling/createMessage",
        { messages: MESSAGES, maxTokens: 9 },
        say,
      );
      return { label, roots: given, name: form?.content?.name, thought: thought?.content?.text };
    },
  };
  const methods = {
    async initialize({ protocolVersion, capabilities, clientInfo }) {
      client = { capabilities, clientInfo };
      await pause(delayMs);
      return {
        protocolVersion,
        capabilities: { tools: {}, prompts: {}, resources: { subscribe: true } },
        serverInfo: { name: "remembering", version: "1" },
      };
    },
    ping: () => ({}),
    async "tools/list"() {
      await pause(delayMs);
      const asking = mayAsk() ? ["roots", "all", "ask"] : [];
      return { tools: ["where", "client", "touch", ...asking].map(tool) };
    },
    "resources/list": () => ({ resources: [{ uri: NOTE, name: "note" }] }),
    "resources/templates/list": () => ({ resourceTemplates: [] }),
    "resources/subscribe": () => {
      isFollowed = true;
      return {};
    },
    "resources/unsubscribe": () => {
      isFollowed = false;
      return {};
    },
    "prompts/list": () => ({ prompts: mayAsk() ? [{ name: "roots" }] : [] }),
    "prompts/get": async (_params, say) => ({
      messages: [{ role: "user", content: { type: "text", text: JSON.stringify(await currentRoots(say)) } }],
    }),
    "tools/call": async ({ name, arguments: args = {} }, say) => text(await tools[name](args, say)),
  };
  const notices = {
    async "notifications/initialized"() {
      if (!mayAsk()) return;
      await pause(LATE_MS[mode] ?? startMs);
      await heard();
      if (ASK_AT_START.includes(mode)) await keepRoots(sayAnytime);
    },
    async "notifications/roots/list_changed"() {
      if (mode === "changed") await keepRoots(sayAnytime);
    },
  };

  return ({ id, method, params, result, error }, say) => {
    if (method === undefined) {
      waiting.get(id)?.({ result, error });
      waiting.delete(id);
      return undefined;
    }
    if (id === undefined) return void notices[method]?.(params ?? {});
    if (methods[method] === undefined)
      return { jsonrpc: "2.0", id, error: { code: -32601, message: "no such method" } };
    return Promise.resolve(methods[method](params ?? {}, say)).then((answer) => ({
      jsonrpc: "2.0",
      id,
      result: answer,
    }));
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [mode = "start", delay = "0"] = process.argv.slice(2);
  serveStdio(rememberingServer(mode, Number(delay)));
}
