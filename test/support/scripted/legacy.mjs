/** One conversation of a scripted server in the era of `initialize`, whatever carries its messages. */
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
 * @param {(message: object, on?: string | number) => void} send `on`: the request on whose own stream it belongs
 */
export function legacyConversation(world, { revision }, send) {
  const running = new Map();
  const waiting = new Map();
  const followed = new Set();
  let level;
  let lastId = 0;
  const tell = (uri) => {
    if ([...followed].some((one) => covers(one, uri))) {
      send({ jsonrpc: "2.0", method: "notifications/resources/updated", params: { uri } });
    }
  };
  world.followers.add(tell);

  const notify = (method, params, on) => send({ jsonrpc: "2.0", method, params }, on);

  function ask(question, on) {
    lastId += 1;
    const id = `q${lastId}`;
    return new Promise((resolve) => {
      waiting.set(id, resolve);
      send({ jsonrpc: "2.0", id, ...question }, on);
    });
  }

  const isLoud = (line) => level === undefined || LEVELS.indexOf(line) >= LEVELS.indexOf(level);

  function roomOf(id, params, signal) {
    const token = params._meta?.progressToken;
    const log = (line, data, on) => {
      if (isLoud(line)) notify("notifications/message", { level: line, logger: "scripted", data }, on);
    };
    return {
      ...world,
      signal,
      pause: () => new Promise((resolve) => setTimeout(resolve, 5)),
      ask: (question) => ask(question, id),
      askLater: async (question) => world.note("told later", await ask(question)),
      takeBack: () => notify("notifications/cancelled", { requestId: `q${lastId}` }, id),
      log: (line, data) => log(line, data, id),
      talk: (line, data) => log(line, data),
      progress: (progress, total) => {
        if (token !== undefined)
          notify("notifications/progress", { progressToken: token, progress, total }, id);
      },
      visited: (label) => world.visited.has(label),
      visitSoon: (label) =>
        setTimeout(() => {
          world.visited.add(label);
          notify("notifications/elicitation/complete", { elicitationId: `sign in ${label}` });
        }, 30),
    };
  }

  async function callTool(id, params) {
    const { name, arguments: args = {} } = params;
    const { label } = args;
    const stop = new AbortController();
    running.set(id, stop);
    stop.signal.addEventListener("abort", () => world.note("cancelled", { label }));
    world.note("begun", { tool: name, label });
    try {
      const result = Object.hasOwn(ASKING, name)
        ? await drive(ASKING[name](args, "legacy"), id, stop.signal, label)
        : await PLAIN[name](args, roomOf(id, params, stop.signal));
      if (!stop.signal.aborted) world.note("done", { tool: name, label });
      return result;
    } finally {
      running.delete(id);
    }
  }

  /** Runs a tool that asks to its end: every question of a round at once, each on the stream of the call. */
  async function drive(steps, id, signal, label) {
    let step = steps.next();
    while (!step.done) {
      if (step.value === UNTIL_CANCELLED) {
        world.note("working", { label });
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
        return {};
      }
      const asked = Object.entries(step.value).map(async ([key, question]) => [key, await ask(question, id)]);
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

  function hear({ method, params }) {
    if (method === "notifications/cancelled") running.get(params?.requestId)?.abort();
    else if (method !== "notifications/initialized") world.note("heard", { method });
  }

  async function answer({ id, method, params = {} }) {
    try {
      if (method === "tools/call") {
        const result = await callTool(id, params);
        send({ jsonrpc: "2.0", id, result }, id);
        return;
      }
      if (!Object.hasOwn(methods, method)) throw new Refusal(-32601, `no method ${method}`);
      send({ jsonrpc: "2.0", id, result: methods[method](params) }, id);
    } catch ({ code = -32603, message, data }) {
      send({ jsonrpc: "2.0", id, error: { code, message, ...(data !== undefined && { data }) } }, id);
    }
  }

  return {
    /** Resolves when a request was answered. */
    receive: async (message) => {
      if (message.method === undefined) {
        const { id, result, error } = message;
        waiting.get(id)?.(error === undefined ? { result } : { error });
        waiting.delete(id);
      } else if (message.id === undefined) hear(message);
      else await answer(message);
    },
    /** The session is over, and with it everything that was done for it. */
    close() {
      world.followers.delete(tell);
      for (const stop of running.values()) stop.abort();
    },
  };
}
