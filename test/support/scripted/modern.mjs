/** A scripted server of 2026-07-28: every request stands for itself, whatever carries it. */
import { ASKING, CAPABILITIES, LEVELS, PLAIN, RESOURCES, SECRET, TOOLS, UNTIL_CANCELLED } from "./tools.mjs";
import { covers } from "./world.mjs";

const META = "io.modelcontextprotocol/";
const SERVER_INFO = { name: "scripted", version: "1", title: "Scripted" };

class Refusal extends Error {
  constructor(code, message, data) {
    super(message);
    Object.assign(this, { code, data });
  }
}

const signed = (result) => ({ ...result, _meta: { ...result._meta, [`${META}serverInfo`]: SERVER_INFO } });
const complete = (result) => signed({ resultType: "complete", ...result });
const cacheable = (result) => complete({ ...result, ttlMs: 0, cacheScope: "private" });

const given = (result) => (result === undefined ? {} : { result });
const untilAborted = (signal) => new Promise((resolve) => signal.addEventListener("abort", resolve));

/** @param {ReturnType<import("./world.mjs").createWorld>} world */
export function modernServer(world) {
  let lastState = 0;
  /** The requests that are being worked on, each with the function that sends on its stream. */
  const running = new Set();

  function roomOf(params, say) {
    const meta = params._meta ?? {};
    const level = meta[`${META}logLevel`];
    return {
      ...world,
      pause: () => new Promise((resolve) => setTimeout(resolve, 5)),
      log: (line, data) => {
        if (level === undefined || LEVELS.indexOf(line) < LEVELS.indexOf(level)) return;
        say({ method: "notifications/message", params: { level: line, logger: "scripted", data } });
      },
      progress: (progress, total) => {
        const { progressToken } = meta;
        if (progressToken === undefined) return;
        say({ method: "notifications/progress", params: { progressToken, progress, total } });
      },
    };
  }

  async function callTool(params, say, signal) {
    const { name, arguments: args = {}, inputResponses = {}, requestState } = params;
    const { label } = args;
    world.note(requestState === undefined ? "begun" : "resumed", { tool: name, label });
    signal.addEventListener("abort", () => world.note("cancelled", { label }));
    let result;
    if (Object.hasOwn(ASKING, name)) {
      const rounds =
        requestState === undefined ? [] : roundsSoFar(spend(requestState, label), inputResponses);
      const value = await comeTo(ASKING[name](args, "modern"), rounds, signal, label);
      if (value.questions !== undefined) return asking(value.questions, rounds, label);
      result = value.result;
    } else result = await PLAIN[name](args, roomOf(params, say));
    if (!signal.aborted) world.note("done", { tool: name, label });
    return complete(result);
  }

  /** A state is valid once: a repeated one gets an error, without effect. */
  function spend(text, label) {
    const state = JSON.parse(Buffer.from(text, "base64url").toString());
    if (state.label !== label) throw new Refusal(-32602, "this state is of another call");
    if (world.spent.has(text)) {
      world.note("refused", { label });
      throw new Refusal(-32602, "this state was used already");
    }
    world.spent.add(text);
    return state;
  }

  const roundsSoFar = ({ rounds, keys }, inputResponses) => [
    ...rounds,
    Object.fromEntries(keys.map((key) => [key, given(inputResponses[key])])),
  ];

  function asking(questions, rounds, label) {
    lastState += 1;
    const state = { rounds, keys: Object.keys(questions), label, number: lastState, pid: process.pid };
    return signed({
      resultType: "input_required",
      inputRequests: questions,
      requestState: Buffer.from(JSON.stringify(state)).toString("base64url"),
    });
  }

  /** Runs a tool through the answers it had, to its next questions or its end. */
  async function comeTo(steps, rounds, signal, label) {
    let step = steps.next();
    for (const answers of rounds) step = steps.next(answers);
    if (step.done) return { result: step.value };
    if (step.value !== UNTIL_CANCELLED) return { questions: step.value };
    world.note("working", { label });
    await untilAborted(signal);
    return { result: { content: [] } };
  }

  /** Notifies of changes until the subscription ends; only of the advertised ones. */
  async function listen(id, { notifications: filter = {} }, say, signal) {
    world.note("listen", { filter });
    const _meta = { [`${META}subscriptionId`]: id };
    const uris = (filter.resourceSubscriptions ?? []).filter((uri) => uri !== SECRET);
    const tell = (uri) => {
      if (uris.some((one) => covers(one, uri)))
        say({ method: "notifications/resources/updated", params: { uri, _meta } });
    };
    const ended = new Promise((resolve) => {
      world.hangUps.add(resolve);
      signal.addEventListener("abort", resolve);
    });
    const honoured = { ...filter, ...(uris.length > 0 && { resourceSubscriptions: uris }) };
    if (uris.length === 0) delete honoured.resourceSubscriptions;
    say({ method: "notifications/subscriptions/acknowledged", params: { notifications: honoured, _meta } });
    world.followers.add(tell);
    await ended;
    world.followers.delete(tell);
    world.note("listened", { filter });
    return complete({ _meta });
  }

  const methods = {
    "server/discover": () =>
      cacheable({ supportedVersions: ["2026-07-28"], capabilities: CAPABILITIES, instructions: "Scripted." }),
    "tools/list": () => cacheable({ tools: TOOLS.filter(({ name }) => name !== "sign_in") }),
    "resources/list": () => cacheable({ resources: RESOURCES.map((uri) => ({ uri, name: uri })) }),
    "resources/templates/list": () => cacheable({ resourceTemplates: [] }),
    "resources/read": ({ uri }) => {
      if (!RESOURCES.includes(uri)) throw new Refusal(-32602, "there is no such resource", { uri });
      return cacheable({ contents: [{ uri, text: uri }] });
    },
    "tools/call": callTool,
  };

  /** @throws Refusal */
  async function resultOf({ id, method, params = {} }, say, signal) {
    if (params._meta?.[`${META}protocolVersion`] === undefined) {
      throw new Refusal(-32602, "the request says no revision");
    }
    if (method === "subscriptions/listen") return listen(id, params, say, signal);
    if (!Object.hasOwn(methods, method)) throw new Refusal(-32601, `no method ${method}`);
    return methods[method](params, say, signal);
  }

  async function respond(request, say) {
    const { id } = request;
    const stop = new AbortController();
    const one = { id, say, stop };
    running.add(one);
    try {
      const result = await resultOf(request, say, stop.signal);
      return stop.signal.aborted ? undefined : { jsonrpc: "2.0", id, result };
    } catch ({ code = -32603, message, data }) {
      return { jsonrpc: "2.0", id, error: { code, message, ...(data !== undefined && { data }) } };
    } finally {
      running.delete(one);
    }
  }

  function answer(message, say) {
    const { id, method, params } = message;
    if (id !== undefined) return respond(message, say);
    if (method === "notifications/cancelled") cancel(params?.requestId);
    else world.note("heard", { method });
    return undefined;
  }

  /** Stops a request; `say` tells apart requests of several clients that have the same id. */
  function cancel(id, say) {
    const one = [...running].find((each) => each.id === id && (say === undefined || each.say === say));
    one?.stop.abort();
  }

  return Object.assign(answer, { cancel });
}
