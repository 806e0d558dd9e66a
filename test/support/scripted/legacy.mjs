/** A scripted server of the era of `initialize`, whatever carries its messages. */
import { ASKING, CAPABILITIES, LEVELS, PLAIN, RESOURCES, SECRET, TOOLS, UNTIL_CANCELLED } from "./tools.mjs";
import { covers } from "./world.mjs";

class Refusal extends Error {
  constructor(code, message, data) {
    super(message);
    Object.assign(this, { code, data });
  }
}

/**
 * @param {ReturnType<import("./world.mjs").createWorld>} world
 * @param {{ revision?: string }} options the revision it answers `initialize` with; default: the one it is offered
 */
export function legacyServer(world, options) {
  const conversations = new Map();
  function answer(message, say, { session }) {
    if (!conversations.has(session)) conversations.set(session, conversation(world, options, session));
    return conversations.get(session).receive(message, say);
  }
  function close(session) {
    world.note("session over");
    conversations.get(session)?.close();
    conversations.delete(session);
  }
  return Object.assign(answer, { close });
}

/** @param session `say` of it sends what belongs to no request, `whenOpen` resolves when its stream for that is open */
function conversation(world, { revision }, { say: sayAnytime, whenOpen = async () => {} }) {
  const running = new Map();
  const waiting = new Map();
  const followed = new Set();
  let level;
  let lastId = 0;
  const tell = (uri) => {
    if ([...followed].some((one) => covers(one, uri))) {
      sayAnytime({ method: "notifications/resources/updated", params: { uri } });
    }
  };
  world.followers.add(tell);

  function ask(question, say) {
    lastId += 1;
    const id = `q${lastId}`;
    return new Promise((resolve) => {
      waiting.set(id, resolve);
      say({ id, ...question });
    });
  }

  const isLoud = (line) => level === undefined || LEVELS.indexOf(line) >= LEVELS.indexOf(level);

  function roomOf(params, signal, say) {
    const token = params._meta?.progressToken;
    const log = (line, data, tell) => {
      const logged = { level: line, logger: "scripted", data };
      if (isLoud(line)) tell({ method: "notifications/message", params: logged });
    };
    return {
      ...world,
      signal,
      pause: () => new Promise((resolve) => setTimeout(resolve, 5)),
      ask: (question) => ask(question, say),
      askLater: async (question) => {
        await whenOpen();
        world.note("told later", await ask(question, sayAnytime));
      },
      takeBack: () => say({ method: "notifications/cancelled", params: { requestId: `q${lastId}` } }),
      log: (line, data) => log(line, data, say),
      talk: async (line, data) => {
        await whenOpen();
        log(line, data, sayAnytime);
      },
      progress: (progress, total) => {
        if (token === undefined) return;
        say({ method: "notifications/progress", params: { progressToken: token, progress, total } });
      },
      visited: (label) => world.visited.has(label),
      visitSoon: (label) =>
        setTimeout(async () => {
          world.visited.add(label);
          await whenOpen();
          const params = { elicitationId: `sign in ${label}` };
          sayAnytime({ method: "notifications/elicitation/complete", params });
        }, 30),
    };
  }

  async function callTool(id, params, say) {
    const { name, arguments: args = {} } = params;
    const { label } = args;
    const stop = new AbortController();
    running.set(id, stop);
    stop.signal.addEventListener("abort", () => world.note("cancelled", { label }));
    world.note("begun", { tool: name, label });
    try {
      const result = Object.hasOwn(ASKING, name)
        ? await drive(ASKING[name](args, "legacy"), stop.signal, label, say)
        : await PLAIN[name](args, roomOf(params, stop.signal, say));
      if (!stop.signal.aborted) world.note("done", { tool: name, label });
      return result;
    } finally {
      running.delete(id);
    }
  }

  /** Runs a tool that asks to its end: every question of a round at once, each on the stream of the call. */
  async function drive(steps, signal, label, say) {
    let step = steps.next();
    while (!step.done) {
      if (step.value === UNTIL_CANCELLED) {
        world.note("working", { label });
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
        return {};
      }
      const asked = Object.entries(step.value).map(async ([key, question]) => [
        key,
        await ask(question, say),
      ]);
      step = steps.next(Object.fromEntries(await Promise.all(asked)));
    }
    return step.value;
  }

  const methods = {
    initialize: ({ protocolVersion, capabilities }) => {
      world.note("initialize", { protocolVersion, capabilities });
      return {
        protocolVersion: revision ?? protocolVersion,
        capabilities: CAPABILITIES,
        serverInfo: { name: "scripted", version: "1", title: "Scripted" },
      };
    },
    ping: () => ({}),
    "tools/list": () => ({ tools: TOOLS }),
    "resources/list": () => ({ resources: RESOURCES.map((uri) => ({ uri, name: uri })) }),
    "resources/templates/list": () => ({ resourceTemplates: [] }),
    "resources/read": ({ uri }) => {
      if (!RESOURCES.includes(uri)) throw new Refusal(-32002, "there is no such resource", { uri });
      return { contents: [{ uri, text: uri }] };
    },
    "resources/subscribe": ({ uri }) => {
      world.note("subscribe", { uri });
      if (uri === SECRET) throw new Refusal(-32602, "nobody is told of it", { uri });
      followed.add(uri);
      return {};
    },
    "resources/unsubscribe": ({ uri }) => {
      world.note("unsubscribe", { uri });
      followed.delete(uri);
      return {};
    },
    "logging/setLevel": ({ level: wanted }) => {
      world.note("level", { level: wanted });
      level = wanted;
      return {};
    },
  };

  function notified({ method, params }) {
    if (method === "notifications/cancelled") running.get(params?.requestId)?.abort();
    else if (method !== "notifications/initialized") world.note("heard", { method });
  }

  async function respond({ id, method, params = {} }, say) {
    try {
      if (method === "tools/call") return { jsonrpc: "2.0", id, result: await callTool(id, params, say) };
      if (!Object.hasOwn(methods, method)) throw new Refusal(-32601, `no method ${method}`);
      return { jsonrpc: "2.0", id, result: methods[method](params) };
    } catch ({ code = -32603, message, data }) {
      return { jsonrpc: "2.0", id, error: { code, message, ...(data !== undefined && { data }) } };
    }
  }

  return {
    /** The response to a request, undefined for all else. */
    receive(message, say) {
      if (message.method === undefined) {
        const { id, result, error } = message;
        waiting.get(id)?.(error === undefined ? { result } : { error });
        waiting.delete(id);
      } else if (message.id === undefined) notified(message);
      else return respond(message, say);
      return undefined;
    },
    /** The session is over, and with it everything that was done for it. */
    close() {
      world.followers.delete(tell);
      for (const stop of running.values()) stop.abort();
    },
  };
}
