/** What servers ask reaches the host whose call caused it, in its own era, and no tool runs twice to ask it. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { MAIN, type Serving, serve, writeConfig } from "../support/cardea.js";
import { type Era, type Fixture, startFixture, type Transport } from "../support/fixture.js";
import { type Answers, ASKABLE, type AskableHost, type AskableKind } from "../support/peers/askable.js";
import type { Json, Place } from "../support/peers/host.js";
import { until } from "../support/until.js";
import { realServers } from "./servers.js";

const EVERYTHING = realServers("/")[0]?.place as Extract<Place, { command: string }>;

/** Answers in which the name of the host stands, so that an answer that went astray is seen. */
const answersOf = (name: string): Answers => ({
  elicit: ({ mode }) =>
    mode === "url" ? { action: "accept" } : { action: "accept", content: { name, ok: true } },
  sample: () => ({ role: "assistant", model: "test", content: { type: "text", text: `${name} thinks so` } }),
  roots: () => ({ roots: [{ uri: `file:///home/${name}`, name }] }),
});

const questionsOf = (host: AskableHost): readonly string[] => host.asked.map(({ method }) => method);
/** When server-everything asks for the roots is its own affair, and may be in the middle of anything. */
const besidesRoots = (methods: readonly string[]): readonly string[] =>
  methods.filter((method) => method !== "roots/list");

describe.each(ASKABLE)("server-everything and a host built with $name", (kind) => {
  let direct: AskableHost;
  beforeAll(async () => {
    // It speaks the legacy era alone, so the host that knows it directly is a legacy one.
    const legacy = kind.era === "legacy" ? kind : (ASKABLE[1] as AskableKind);
    direct = await legacy.connect(EVERYTHING, answersOf("ada"));
    await until("its tools for hosts that can be asked", async () =>
      (await direct.listTools()).includes("trigger-sampling-request"),
    );
  });
  afterAll(() => direct.close());

  describe.each(["/mcp", "cardea stdio"] as const)("through %s", (way) => {
    let gateway: Serving | undefined;
    let host: AskableHost;
    let remove = async (): Promise<void> => {};
    const tool = (name: string): string => `everything__${name}`;
    beforeAll(async () => {
      const config = { mcpServers: { everything: EVERYTHING } };
      const written = writeConfig(config);
      remove = written.remove;
      if (way === "/mcp") gateway = await serve(config);
      const place = gateway
        ? { url: gateway.url }
        : { command: process.execPath, args: [MAIN, "stdio", "--config", written.file] };
      host = await kind.connect(place, answersOf("ada"));
      await until("the tools for hosts that can be asked", async () =>
        (await host.listTools()).includes(tool("trigger-sampling-request")),
      );
    });
    afterAll(async () => {
      await host.close();
      await gateway?.stop();
      await remove();
    });

    test.each<[string, Json]>([
      ["trigger-sampling-request", { prompt: "why?", maxTokens: 10 }],
      ["trigger-elicitation-request", {}],
      ["trigger-url-elicitation", { url: "https://example.org/", elicitationId: "one" }],
    ])("%s sends the questions and the result that it sends directly", async (name, args) => {
      const [before, beforeDirect] = [host.asked.length, direct.asked.length];
      const expected = await direct.call(name, args);
      expect(await host.call(tool(name), args)).toBe(expected);
      const expectedQuestions = besidesRoots(questionsOf(direct).slice(beforeDirect));
      expect(besidesRoots(questionsOf(host).slice(before))).toEqual(expectedQuestions);
    });

    test("get-roots-list returns the host's own roots", async () => {
      expect(await host.call(tool("get-roots-list"))).toBe(await direct.call("get-roots-list"));
      expect(questionsOf(host)).toContain("roots/list");
    });

    test("trigger-long-running-operation reports progress", async () => {
      let steps: number[] = [];
      // During the first one the server may request the roots, and a modern host receives nothing meanwhile.
      await until("an operation without questions", async () => {
        const before = host.asked.length;
        steps = [];
        const args = { duration: 0.3, steps: 3 };
        await host.call(tool("trigger-long-running-operation"), args, (done) => steps.push(done));
        return host.asked.length === before;
      });
      // SDK 1 forgets whom to tell as soon as it has the answer, though the last report came before that.
      expect(steps.slice(0, 2)).toEqual([1, 2]);
    });

    // The server tells of changes every five seconds, so it is waited for on one way only.
    test.runIf(way === "/mcp")(
      "toggle-subscriber-updates notifies of a resource that the host subscribed to",
      async () => {
        const uri = "everything+demo://resource/dynamic/text/1";
        await host.follow(uri);
        await host.call(tool("toggle-subscriber-updates"));
        await until("news of the resource", () => host.heard.updates.includes(uri));
        await host.call(tool("toggle-subscriber-updates"));
      },
    );
  });
});

const UPSTREAMS: readonly { readonly era: Era | "both"; readonly transport: Transport }[] = [
  { era: "legacy", transport: "http" },
  { era: "legacy", transport: "stdio" },
  { era: "modern", transport: "http" },
  { era: "modern", transport: "stdio" },
  // Of the SDK 2.4: in the older era its tools ask while they run, in the newer they answer with questions.
  { era: "both", transport: "http" },
  { era: "both", transport: "stdio" },
];

describe.each(UPSTREAMS)("a $era server over $transport", ({ era, transport }) => {
  let fixture: Fixture;
  let gateway: Serving;
  const hosts: AskableHost[] = [];
  beforeAll(async () => {
    fixture = await startFixture(era, transport);
    gateway = await serve({ mcpServers: { fix: fixture.entry } });
  });
  afterAll(async () => {
    await Promise.all(hosts.map((host) => host.close()));
    await gateway.stop();
    await fixture.stop();
  });
  const connect = async (kind: AskableKind, answers: Answers): Promise<AskableHost> => {
    const host = await kind.connect({ url: gateway.url }, answers);
    hosts.push(host);
    return host;
  };

  describe.each(ASKABLE)("sends questions to a host built with $name", (kind) => {
    let eve: AskableHost;
    beforeAll(async () => {
      eve = await connect(kind, answersOf("eve"));
    });

    test.each<[string, string, readonly string[]]>([
      ["test_input_required_result_elicitation", "Hello, eve.", ["elicitation/create"]],
      ["test_input_required_result_sampling", "The model says: eve thinks so", ["sampling/createMessage"]],
      ["test_input_required_result_list_roots", "1 roots: file:///home/eve", ["roots/list"]],
      [
        "test_input_required_result_multiple_inputs",
        "eve thinks so eve, 1 roots",
        ["elicitation/create", "roots/list", "sampling/createMessage"],
      ],
    ])("by %s", async (name, answer, questions) => {
      const before = eve.asked.length;
      expect(await eve.call(`fix__${name}`)).toBe(answer);
      expect(questionsOf(eve).slice(before).sort()).toEqual(questions);
    });

    test("in two rounds", async () => {
      const host = await connect(kind, {
        ...answersOf("eve"),
        elicit: ({ message }) => ({
          action: "accept",
          content: String(message).includes("Step 1") ? { name: "eve" } : { color: "blue" },
        }),
      });
      expect(await host.call("fix__test_input_required_result_multi_round")).toBe("eve likes blue");
      expect(questionsOf(host)).toEqual(["elicitation/create", "elicitation/create"]);
    });

    test("and gets the decline of the person", async () => {
      const host = await connect(kind, { ...answersOf("eve"), elicit: () => ({ action: "decline" }) });
      expect(await host.call("fix__test_elicitation", { message: "really?" })).toBe(
        "action=decline, content={}",
      );
    });

    test("and runs its tool once", async () => {
      const runs = (): number => fixture.ledger().filter(({ event }) => event === "asked").length;
      const before = runs();
      expect(await eve.call("fix__test_sampling", { prompt: "?" })).toBe("the model says: eve thinks so");
      // A modern tool is called again with the answer: that is how it asks. A legacy one is still running.
      const spoken = era === "both" ? kind.era : era;
      expect(runs() - before).toBe(spoken === "modern" ? 2 : 1);
    });
  });
});

describe.each(["legacy", "modern", "both"] as const)(
  "a %s server with concurrent calls of 50 hosts of all kinds",
  (era) => {
    test("sends each host its own question and its own result", async () => {
      const fixture = await startFixture(era, "http");
      const gateway = await serve({ mcpServers: { fix: fixture.entry } });
      const names = Array.from({ length: 50 }, (_, index) => `host-${index}`);
      const hosts = await Promise.all(
        names.map((name, index) =>
          (ASKABLE[index % ASKABLE.length] as AskableKind).connect({ url: gateway.url }, answersOf(name)),
        ),
      );
      const answers = await Promise.all(
        hosts.map((host) => host.call("fix__test_input_required_result_multiple_inputs")),
      );
      expect(answers).toEqual(names.map((name) => `${name} thinks so ${name}, 1 roots`));
      expect(hosts.map(({ asked }) => asked.length)).toEqual(names.map(() => 3));
      await Promise.all(hosts.map((host) => host.close()));
      await gateway.stop();
      await fixture.stop();
    });
  },
);
