/** server-everything asks hosts of every kind through the gateway as it asks them directly. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { MAIN, writeConfig } from "../support/cardea.js";
import { type MetGateway, metGateway } from "../support/met-gateway.js";
import { ASKABLE, type AskableHost, type AskableKind } from "../support/peers/askable.js";
import type { Json, Place } from "../support/peers/host.js";
import { eachValue } from "../support/sample.js";
import { until } from "../support/until.js";
import { answersOf, questionsOf } from "./asked.js";
import { realServers } from "./servers.js";

const EVERYTHING = realServers("/")[0]?.place as Extract<Place, { command: string }>;
const CONFIG = { mcpServers: { everything: EVERYTHING } };

/** When server-everything asks for the roots is its own affair, and may be in the middle of anything. */
const besidesRoots = (methods: readonly string[]): readonly string[] =>
  methods.filter((method) => method !== "roots/list");

/** A host that lists the tools for hosts that can be asked. */
async function connect(kind: AskableKind, place: Place, prefix: string): Promise<AskableHost> {
  const host = await kind.connect(place, answersOf("ada"));
  await until("the tools for hosts that can be asked", async () =>
    (await host.listTools()).includes(`${prefix}trigger-sampling-request`),
  );
  return host;
}

/** It speaks the legacy era alone, so the host that knows it directly is a legacy one. */
const directKind = (kind: AskableKind): AskableKind =>
  kind.era === "legacy" ? kind : (ASKABLE[1] as AskableKind);

const WAYS = eachValue(
  "questions of everything",
  ASKABLE.flatMap((kind) => ["/mcp", "cardea stdio"].map((way) => ({ kind, way }))),
  ({ kind, way }) => [kind.era, way],
);

let gateway: MetGateway;
const { file, remove } = writeConfig(CONFIG);
const places: Readonly<Record<string, () => Place>> = {
  "/mcp": () => ({ url: gateway.url }),
  "cardea stdio": () => ({ command: process.execPath, args: [MAIN, "stdio", "--config", file] }),
};
const directs = new Map<AskableKind, AskableHost>();
const hosts = new Map<(typeof WAYS)[number], AskableHost>();
beforeAll(async () => {
  gateway = await metGateway(CONFIG);
  await Promise.all([
    ...[...new Set(WAYS.map(({ kind }) => directKind(kind)))].map(async (kind) =>
      directs.set(kind, await connect(kind, EVERYTHING, "")),
    ),
    ...WAYS.map(async (one) => {
      const place = places[one.way]?.() ?? EVERYTHING;
      hosts.set(one, await connect(one.kind, place, "everything__"));
    }),
  ]);
});
afterAll(async () => {
  await Promise.all([...directs.values(), ...hosts.values()].map((host) => host.close()));
  await gateway.stop();
  await remove();
});

describe.each(WAYS)("a host built with $kind.name through $way", (one) => {
  let [direct, host] = [{}, {}] as [AskableHost, AskableHost];
  beforeAll(() => {
    direct = directs.get(directKind(one.kind)) as AskableHost;
    host = hosts.get(one) as AskableHost;
  });
  const tool = (name: string): string => `everything__${name}`;

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
    // During the first one the server may request the roots, and a modern host receives nothing meanwhile. An SDK forgets whom
    // to tell as soon as it has read the answer: where the process stalls, reports that it reads together with that are lost.
    await until("an operation without questions, whose reports are read before its answer", async () => {
      const before = host.asked.length;
      steps = [];
      const args = { duration: 0.3, steps: 3 };
      await host.call(tool("trigger-long-running-operation"), args, (done) => steps.push(done));
      return host.asked.length === before && steps.length > 1;
    });
    expect(steps.slice(0, 2)).toEqual([1, 2]);
  });
});

// The server sends updates every five seconds: all hosts wait at the same time.
test("toggle-subscriber-updates notifies each host of a resource that it subscribed to", async () => {
  const uri = "everything+demo://resource/dynamic/text/1";
  const overHttp = WAYS.filter(({ way }) => way === "/mcp").map((one) => hosts.get(one) as AskableHost);
  await Promise.all(
    overHttp.map(async (host) => {
      await host.follow(uri);
      await host.call("everything__toggle-subscriber-updates");
      await until("news of the resource", () => host.heard.updates.includes(uri));
      await host.call("everything__toggle-subscriber-updates");
    }),
  );
});
