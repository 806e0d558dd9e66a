/** What servers ask reaches the host whose call caused it, in its own era, and no tool runs twice to ask it. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Fixture, startFixture } from "../support/fixture.js";
import { type MetGateway, metGateway } from "../support/met-gateway.js";
import { type Answers, ASKABLE, type AskableHost, type AskableKind } from "../support/peers/askable.js";
import type { Json } from "../support/peers/host.js";
import { eachValue, pairwise, TAKES_ALL } from "../support/sample.js";
import { answersOf, questionsOf } from "./asked.js";

/** The keys are short, so that no name is too long. `both`: of the SDK 2.4; in the older era its tools ask while they run, in the newer they answer with questions. */
const SERVERS = (["legacy", "modern", "both"] as const).flatMap((era) =>
  (["http", "stdio"] as const).map((transport) => ({ era, transport, key: `${era[0]}${transport[0]}` })),
);
type Server = (typeof SERVERS)[number];

interface Situation {
  readonly title: string;
  readonly tool: string;
  readonly args?: Json;
  readonly answer: string;
  readonly questions: readonly string[];
}

const byTool = (name: string, answer: string, questions: readonly string[]): Situation => {
  const tool = `test_input_required_result_${name}`;
  return { title: `by ${tool}`, tool, answer, questions };
};
/** Every server asks every host in one of these at least. */
const CORE: readonly Situation[] = [
  byTool("elicitation", "Hello, eve.", ["elicitation/create"]),
  byTool("sampling", "The model says: eve thinks so", ["sampling/createMessage"]),
  byTool("list_roots", "1 roots: file:///home/eve", ["roots/list"]),
  byTool("multiple_inputs", "eve thinks so eve, 1 roots", [
    "elicitation/create",
    "roots/list",
    "sampling/createMessage",
  ]),
];
const RUNS_ONCE: Situation = {
  title: "and runs its tool once",
  tool: "test_sampling",
  args: { prompt: "?" },
  answer: "the model says: eve thinks so",
  questions: ["sampling/createMessage"],
};
const OTHERS: readonly Situation[] = [
  {
    title: "in two rounds",
    tool: "test_input_required_result_multi_round",
    answer: "eve likes blue",
    questions: ["elicitation/create", "elicitation/create"],
  },
  {
    title: "and gets the decline of the person",
    tool: "test_elicitation",
    args: { message: "really?" },
    answer: "action=decline, content={}",
    questions: ["elicitation/create"],
  },
  RUNS_ONCE,
];
const casesOf = (situations: readonly Situation[]) =>
  SERVERS.flatMap((server) =>
    ASKABLE.flatMap((kind) => situations.map((situation) => ({ server, kind, situation }))),
  );
const DRAWN = [
  ...pairwise("core questions", casesOf(CORE), ({ server, kind, situation }) => [
    server.key,
    kind.name,
    situation.title,
  ]),
  ...eachValue("questions", casesOf(OTHERS), ({ server, kind, situation }) => [
    server.key,
    `${kind.era} ${situation.title}`,
  ]),
];
const situationsOf = (server: Server, kind: AskableKind) =>
  DRAWN.filter((drawn) => drawn.server === server && drawn.kind === kind).map(
    ({ situation }) => [situation.title, situation] as const,
  );

/** Her answers depend on the question. */
const EVE: Answers = {
  ...answersOf("eve"),
  elicit: ({ message }) => {
    if (String(message).includes("really?")) return { action: "decline" };
    const isSecond = String(message).includes("Step 2");
    return { action: "accept", content: isSecond ? { color: "blue" } : { name: "eve" } };
  },
};

const fixtures = new Map<string, Fixture>();
const entriesOf = (servers: readonly Server[]) => ({
  mcpServers: Object.fromEntries(servers.map(({ key }) => [key, fixtures.get(key)?.entry ?? {}])),
});
beforeAll(async () => {
  for (const { key, era, transport } of SERVERS) fixtures.set(key, await startFixture(era, transport));
});
afterAll(() => Promise.all([...fixtures.values()].map((fixture) => fixture.stop())));

describe("one gateway before all servers", () => {
  let gateway: MetGateway;
  const hosts = new Map<AskableKind, AskableHost>();
  beforeAll(async () => {
    gateway = await metGateway(entriesOf(SERVERS));
    await Promise.all(
      ASKABLE.map(async (kind) => hosts.set(kind, await kind.connect({ url: gateway.url }, EVE))),
    );
  });
  afterAll(async () => {
    await Promise.all([...hosts.values()].map((host) => host.close()));
    await gateway.stop();
  });

  describe.each(SERVERS)("a $era server over $transport", (server) => {
    describe.each(ASKABLE)("sends questions to a host built with $name", (kind) => {
      test.each(situationsOf(server, kind))("%s", async (_title, situation) => {
        const eve = hosts.get(kind) as AskableHost;
        const runs = (): number =>
          fixtures
            .get(server.key)
            ?.ledger()
            .filter(({ event }) => event === "asked").length ?? 0;
        const [before, runsBefore] = [eve.asked.length, runs()];
        expect(await eve.call(`${server.key}__${situation.tool}`, situation.args)).toBe(situation.answer);
        expect(questionsOf(eve).slice(before).sort()).toEqual(situation.questions);
        if (situation !== RUNS_ONCE) return;
        // A modern tool is called again with the answer: that is how it asks. A legacy one is still running.
        const spoken = server.era === "both" ? kind.era : server.era;
        expect(runs() - runsBefore).toBe(spoken === "modern" ? 2 : 1);
      });
    });
  });
});

/** Hosts of each kind that call at the same time. */
const CALLERS = TAKES_ALL ? 17 : 3;

describe(`concurrent calls of ${CALLERS * ASKABLE.length} hosts of all kinds`, () => {
  const overHttp = SERVERS.filter(({ transport }) => transport === "http");
  const names = Array.from({ length: CALLERS * ASKABLE.length }, (_, index) => `host-${index}`);
  let gateway: MetGateway;
  let hosts: readonly AskableHost[] = [];
  beforeAll(async () => {
    gateway = await metGateway(entriesOf(overHttp));
    hosts = await Promise.all(
      names.map((name, index) =>
        (ASKABLE[index % ASKABLE.length] as AskableKind).connect({ url: gateway.url }, answersOf(name)),
      ),
    );
  });
  afterAll(async () => {
    await Promise.all(hosts.map((host) => host.close()));
    await gateway.stop();
  });

  test.each(overHttp)(
    "of a $era server: each host gets its own question and its own result",
    async ({ key }) => {
      const before = hosts.map(({ asked }) => asked.length);
      const answers = await Promise.all(
        hosts.map((host) => host.call(`${key}__test_input_required_result_multiple_inputs`)),
      );
      expect(answers).toEqual(names.map((name) => `${name} thinks so ${name}, 1 roots`));
      expect(hosts.map(({ asked }, at) => asked.length - (before[at] ?? 0))).toEqual(names.map(() => 3));
    },
  );
});
