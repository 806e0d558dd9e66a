/** A gateway in front of a legacy server that keeps the roots of its connection, and hosts that answer by their names. */
import { afterEach } from "vitest";
import { inRepository } from "../../support/cardea.js";
import type { Json } from "../../support/peers/host.js";
import { type Mode, openRemembering } from "../../support/servers/remembering.mjs";
import { type Answer, HOSTS, type HostKind, openHost, type Question, type ScenarioHost } from "../host.js";
import { openStage, type Stage } from "../stage.js";

export const MODES: readonly Mode[] = ["start", "late", "first", "call", "changed"];
const MAIN = inRepository("test/support/servers/remembering.mjs");
export const TRANSPORTS = ["stdio", "http"] as const;
export type Transport = (typeof TRANSPORTS)[number];
const MAX_CALLS = 1_000;
export const FOLLOWED = "it+memo://note";

const open: { stop(): Promise<unknown> }[] = [];
/** For each file: what a test has opened ends with it. */
export const endsWithEachTest = (): void =>
  afterEach(async () => {
    for (const one of open.splice(0).reverse()) await one.stop();
  });

/** The gateway in front of one such server, with the prefix `it`. */
export async function stageOf(
  transport: Transport,
  mode: Mode,
  { entry: more = {}, delayMs = 0, isListed = true } = {},
): Promise<Stage> {
  let entry: object = { command: process.execPath, args: [MAIN, mode, String(delayMs)] };
  if (transport === "http") {
    const server = await openRemembering(mode, delayMs);
    open.push(server);
    entry = { type: "http", url: server.url };
  }
  const config = { mcpServers: { it: { ...entry, ...more } } };
  const stage = await openStage([], { config, ...(!isListed && { startsWith: "nothing" }) });
  open.push({ stop: () => stage.close() });
  const asksLater = transport === "http" && (mode === "start" || mode === "changed");
  if (asksLater && !("lease" in more && more.lease === "shared")) await letAsk(stage);
  return stage;
}

/** Over HTTP a question after the handshake comes at some time: until the first one the gateway cannot know of it. */
async function letAsk(stage: Stage): Promise<void> {
  const host = await openAs(stage, HOSTS.modernHttp, "first");
  for (let calls = 0; calls < MAX_CALLS; calls += 1)
    if ((await callAs(host, "first", "roots")).roots !== null) return;
  throw new Error(`the server has not asked for roots in ${MAX_CALLS} calls`);
}

export const rootsOf = (name: string): Json => ({ roots: [{ uri: `file:///${name}` }] });
const CONTENT = { role: "assistant", model: "test" };

/** Answers each question as the host of that name. */
export const answersOf =
  (name: string): Answer =>
  ({ method }: Question) => {
    if (method === "roots/list") return rootsOf(name);
    if (method === "elicitation/create") return { action: "accept", content: { name } };
    return { ...CONTENT, content: { type: "text", text: `a thought of ${name}` } };
  };

export const openAs = (stage: Stage, kind: HostKind, name: string): Promise<ScenarioHost> =>
  openHost(stage, kind, { answer: answersOf(name) });

export async function callAs(host: ScenarioHost, name: string, tool: string, args: Json = {}): Promise<Json> {
  const { result, error } = await host.call(`it__${tool}`, args, answersOf(name)).outcome;
  if (error !== undefined) throw new Error(JSON.stringify(error));
  const [block] = (result as { readonly content: readonly { readonly text: string }[] }).content;
  return JSON.parse(block?.text ?? "null") as Json;
}

/** The resource updates that a modern host gets, from now on; `FOLLOWED` is what it follows. */
export async function follow({ raw }: ScenarioHost): Promise<readonly unknown[]> {
  const told: unknown[] = [];
  const letGo = new AbortController();
  open.push({ stop: async () => letGo.abort() });
  await new Promise<void>((resolve, reject) => {
    const onMessage = ({ method, params }: Json): void => {
      if (method === "notifications/subscriptions/acknowledged") resolve();
      else if (method === "notifications/resources/updated") told.push((params as Json).uri);
    };
    const params = { notifications: { resourceSubscriptions: [FOLLOWED] } };
    raw.send("listen", "subscriptions/listen", params, { onMessage, signal: letGo.signal }).catch(reject);
  });
  return told;
}
