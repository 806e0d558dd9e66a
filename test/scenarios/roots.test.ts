/** Hosts of one principal at a legacy server that keeps the roots of its connection: each call sees those of its own host. */
import { afterEach, describe, expect, test } from "vitest";
import { inRepository } from "../support/cardea.js";
import type { Json } from "../support/peers/host.js";
import { pairwise, sample } from "../support/sample.js";
import { type Mode, openRemembering } from "../support/servers/remembering.mjs";
import { until } from "../support/until.js";
import { type Answer, HOSTS, type HostKind, openHost, type Question, type ScenarioHost } from "./host.js";
import { openStage, type Stage } from "./stage.js";

const MODES: readonly Mode[] = ["start", "late", "first", "call", "changed"];
const MAIN = inRepository("test/support/servers/remembering.mjs");
const TRANSPORTS = ["stdio", "http"] as const;
type Transport = (typeof TRANSPORTS)[number];
const MAX_CALLS = 1_000;
const FOLLOWED = "it+memo://note";

const open: { stop(): Promise<unknown> }[] = [];
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.stop();
});

/** The gateway in front of one such server, with the prefix `it`. */
async function stageOf(
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

const rootsOf = (name: string): Json => ({ roots: [{ uri: `file:///${name}` }] });
const CONTENT = { role: "assistant", model: "test" };

/** Answers each question as the host of that name. */
const answersOf =
  (name: string): Answer =>
  ({ method }: Question) => {
    if (method === "roots/list") return rootsOf(name);
    if (method === "elicitation/create") return { action: "accept", content: { name } };
    return { ...CONTENT, content: { type: "text", text: `a thought of ${name}` } };
  };

const openAs = (stage: Stage, kind: HostKind, name: string): Promise<ScenarioHost> =>
  openHost(stage, kind, { answer: answersOf(name) });

async function callAs(host: ScenarioHost, name: string, tool: string, args: Json = {}): Promise<Json> {
  const { result, error } = await host.call(`it__${tool}`, args, answersOf(name)).outcome;
  if (error !== undefined) throw new Error(JSON.stringify(error));
  const [block] = (result as { readonly content: readonly { readonly text: string }[] }).content;
  return JSON.parse(block?.text ?? "null") as Json;
}

/** The resource updates that a modern host gets, from now on; `FOLLOWED` is what it follows. */
async function follow({ raw }: ScenarioHost): Promise<readonly unknown[]> {
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

/** What is tested with every mode over each transport. */
interface Situation {
  /** Situations of one subject stand for each other in a sample. */
  readonly subject: string;
  readonly sentence: string;
  run(transport: Transport, mode: Mode): Promise<void>;
}

const PAIRS: readonly (readonly [HostKind, HostKind])[] = [
  [HOSTS.modernHttp, HOSTS.modernHttp],
  [HOSTS.modernStdio, HOSTS.modernStdio],
  [HOSTS.modernHttp, HOSTS.legacyHttp],
];

const inTurn: readonly Situation[] = PAIRS.map((kinds) => ({
  subject: "in turn",
  sentence: `shows ${kinds.map(({ name }) => name).join(" and ")} its own, one after the other`,
  async run(transport, mode) {
    const stage = await stageOf(transport, mode);
    const [one, two] = [await openAs(stage, kinds[0], "one"), await openAs(stage, kinds[1], "two")];
    for (const [host, name] of [
      [one, "one"],
      [two, "two"],
      [one, "one"],
      [two, "two"],
    ] as const) {
      expect(await callAs(host, name, "roots")).toMatchObject({ roots: [`file:///${name}`] });
    }
    expect(await callAs(two, "two", "all", { label: "x" })).toEqual({
      label: "x",
      roots: ["file:///two"],
      name: "two",
      thought: "a thought of two",
    });
  },
}));

const withSessions: readonly Situation[] = (["principal", "session", "shared"] as const).map((lease) => ({
  subject: "sessions",
  sentence: `shows hosts with sessions their own, with the lease ${lease}`,
  async run(transport, mode) {
    const stage = await stageOf(transport, mode, { entry: { lease } });
    const hosts = await Promise.all([0, 1].map((index) => openAs(stage, HOSTS.legacyHttp, `host-${index}`)));
    const tool = lease === "shared" ? "client" : "roots";
    for (const [index, host] of [...hosts, ...hosts].entries()) {
      const seen = await callAs(host, `host-${index % 2}`, tool);
      if (lease === "shared") expect(seen.capabilities).toEqual({});
      else expect(seen.roots).toEqual([`file:///host-${index % 2}`]);
    }
  },
}));

const SITUATIONS: readonly Situation[] = [
  ...inTurn,
  {
    subject: "at once",
    sentence: "shows hosts their own that call at the same time, before any list",
    async run(transport, mode) {
      const stage = await stageOf(transport, mode, { isListed: false });
      const hosts = await Promise.all([0, 1, 2].map(() => openAs(stage, HOSTS.modernHttp, "")));
      for (let round = 0; round < 2; round += 1) {
        const seen = await Promise.all(hosts.map((host, index) => callAs(host, `host-${index}`, "roots")));
        expect(seen.map(({ roots }) => roots)).toEqual(hosts.map((_, index) => [`file:///host-${index}`]));
      }
    },
  },
  {
    subject: "equal roots",
    sentence:
      "serves hosts with equal roots over one connection, and a host that has changed its roots with the new ones",
    async run(transport, mode) {
      const stage = await stageOf(transport, mode);
      const hosts = await Promise.all([0, 1, 2].map(() => openAs(stage, HOSTS.modernHttp, "")));
      // Until it is certain that the server asks in the call, and not by chance while it runs.
      for (let calls = 0; calls < 2; calls += 1) await callAs(hosts[0] as ScenarioHost, "same", "roots");
      const seen: unknown[] = [];
      for (const host of [...hosts, ...hosts]) seen.push((await callAs(host, "same", "roots")).where);
      expect(new Set(seen).size).toBe(1);
      expect(await callAs(hosts[0] as ScenarioHost, "other", "roots")).toMatchObject({
        roots: ["file:///other"],
      });
    },
  },
  ...withSessions,
  {
    subject: "no roots",
    sentence: "never asks a host without roots",
    async run(transport, mode) {
      const stage = await stageOf(transport, mode);
      const [one, two] = [
        await openAs(stage, HOSTS.modernHttp, "one"),
        await openHost(stage, HOSTS.modernHttp, { capabilities: { elicitation: {}, sampling: {} } }),
      ];
      for (let calls = 0; calls < 2; calls += 1) {
        await callAs(one, "one", "roots");
        const calling = two.call("it__touch", { needsRoots: true }, answersOf("two"));
        expect(JSON.stringify((await calling.outcome).result)).toContain('\\"knowsRoots\\":false');
        expect(calling.asked).toEqual([]);
      }
    },
  },
  {
    subject: "followed",
    sentence: "has what a host follows followed where its calls run",
    async run(transport, mode) {
      const stage = await stageOf(transport, mode);
      const host = await openAs(stage, HOSTS.modernHttp, "one");
      const told = await follow(host);
      for (const name of ["one", "two"]) {
        for (const needsRoots of [true, false, true]) {
          const before = told.length;
          await until("news of the note", async () => {
            await callAs(host, name, "touch", { needsRoots });
            return told.length > before;
          });
        }
      }
      expect(new Set(told)).toEqual(new Set([FOLLOWED]));
    },
  },
];

const CASES = TRANSPORTS.flatMap((transport) =>
  MODES.flatMap((mode) => SITUATIONS.map((situation) => ({ ...situation, transport, mode }))),
);
const DRAWN = pairwise("roots", CASES, ({ transport, mode, subject }) => [transport, mode, subject]);
const nameOf = ({ transport, mode, sentence }: (typeof CASES)[number]): string =>
  `over ${transport}, a server that asks for roots (${mode}) ${sentence}`;

test.each(DRAWN.map((drawn) => [nameOf(drawn), drawn] as const))("%s", (_name, { transport, mode, run }) =>
  run(transport, mode),
);

describe.each(sample("roots", TRANSPORTS, 1))("over %s", (transport) => {
  test("a server that never asks for roots keeps one connection for all hosts, and no host is asked", async () => {
    const stage = await stageOf(transport, "never");
    const hosts = await Promise.all([0, 1, 2, 3].map(() => openAs(stage, HOSTS.modernHttp, "")));
    const seen: unknown[] = [];
    for (const [index, host] of [...hosts, ...hosts].entries()) {
      const calling = host.call("it__where", {}, answersOf(`host-${index}`));
      seen.push(JSON.stringify((await calling.outcome).result));
      expect(calling.asked).toEqual([]);
    }
    expect(new Set(seen).size).toBe(1);
  });

  const IN_CALLS: readonly Mode[] = transport === "stdio" ? ["first", "call", "later"] : ["first", "call"];
  test.each(IN_CALLS)(
    "a server that asks for roots in calls that need them (%s) serves others without, and where it knows none",
    async (mode) => {
      const stage = await stageOf(transport, mode);
      const hosts = await Promise.all([0, 1].map(() => openAs(stage, HOSTS.modernHttp, "")));
      for (const [index, host] of [...hosts, ...hosts].entries()) {
        const name = `host-${index % 2}`;
        expect(await callAs(host, name, "roots")).toMatchObject({ roots: [`file:///${name}`] });
        const calling = host.call("it__touch", {}, answersOf(name));
        expect(JSON.stringify((await calling.outcome).result)).toContain('\\"knowsRoots\\":false');
        expect(calling.asked).toEqual([]);
      }
      const calling = (hosts[0] as ScenarioHost).call("it__roots", {}, answersOf("host-0"));
      await calling.outcome;
      expect(calling.asked.map(({ method }) => method)).toEqual(["roots/list"]);
    },
  );

  test("more hosts than a principal has connections see their own roots", async () => {
    const stage = await stageOf(transport, "start");
    const host = await openAs(stage, HOSTS.modernHttp, "");
    for (let index = 0; index < 10; index += 1) {
      expect(await callAs(host, `host-${index}`, "roots")).toMatchObject({
        roots: [`file:///host-${index}`],
      });
    }
  });

  test("a prompt is for the roots of its host too", async () => {
    const stage = await stageOf(transport, "first");
    for (const name of ["one", "two"]) {
      const { raw } = await openAs(stage, HOSTS.modernHttp, "");
      let id = 0;
      const { response } = await raw.converse(
        "prompts/get",
        { name: "it__roots" },
        (question) => answersOf(name)(question as unknown as Question),
        { idOf: () => ++id },
      );
      expect(JSON.stringify(response)).toContain(`file:///${name}`);
    }
  });

  test("a call runs once for the question that comes before it, however often its state is sent", async () => {
    const stage = await stageOf(transport, "first");
    const { raw } = await openAs(stage, HOSTS.modernHttp, "");
    for (let calls = 0; calls < 2; calls += 1)
      await callAs(await openAs(stage, HOSTS.modernHttp, "one"), "one", "roots");
    const params = { name: "it__roots", arguments: {} };
    const first = await raw.send("ask", "tools/call", params);
    expect(first.result).toMatchObject({ inputRequests: { roots: { method: "roots/list" } } });
    const { requestState } = first.result as Json;
    const again = { ...params, requestState, inputResponses: { roots: rootsOf("two") } };
    expect(JSON.stringify(await raw.send("run", "tools/call", again))).toContain("file:///two");
    const replayed = await raw.send("replay", "tools/call", again);
    expect(replayed).toMatchObject({ error: { data: { cardea: { code: "state_rejected" } } } });
    // An answer without a question is none.
    const made = { ...params, inputResponses: { roots: rootsOf("one") } };
    expect((await raw.send("made up", "tools/call", made)).result).toMatchObject({
      resultType: "input_required",
    });
  });

  test("a host that refuses to tell its roots does not get those of another", async () => {
    const stage = await stageOf(transport, "first", { entry: { lease: "principal" } });
    const [one, two] = [await openAs(stage, HOSTS.legacyHttp, ""), await openAs(stage, HOSTS.legacyHttp, "")];
    expect(await callAs(one, "one", "roots")).toMatchObject({ roots: ["file:///one"] });
    const refused = await two.call("it__roots", {}, () => {
      throw new Error("not today");
    }).outcome;
    expect(JSON.stringify(refused.result)).toContain("null");
  });

  test("a call that comes before any list waits for a slow start and a slow list", async () => {
    const stage = await stageOf(transport, "first", { isListed: false, delayMs: 800 });
    const hosts = [
      await openAs(stage, HOSTS.modernHttp, "host-0"),
      await openAs(stage, HOSTS.legacyHttp, "host-1"),
    ];
    const seen = await Promise.all(hosts.map((host, index) => callAs(host, `host-${index}`, "roots")));
    expect(seen.map(({ roots }) => roots)).toEqual([["file:///host-0"], ["file:///host-1"]]);
  });
});
