/** What a server that asks for roots shows to hosts, with every mode over each transport. */
import { expect, test } from "vitest";
import { eachValue } from "../../support/sample.js";
import type { Mode } from "../../support/servers/remembering.mjs";
import { until } from "../../support/until.js";
import { HOSTS, type HostKind, openHost, type ScenarioHost } from "../host.js";
import {
  answersOf,
  callAs,
  endsWithEachTest,
  FOLLOWED,
  follow,
  MODES,
  openAs,
  stageOf,
  TRANSPORTS,
  type Transport,
} from "./stage.js";

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
const DRAWN = eachValue("roots", CASES, ({ transport, mode, subject }) => [`${transport} ${mode}`, subject]);
const nameOf = ({ transport, mode, sentence }: (typeof CASES)[number]): string =>
  `over ${transport}, a server that asks for roots (${mode}) ${sentence}`;

/** The drawn cases of one transport. */
export function matrixOver(transport: Transport): void {
  endsWithEachTest();
  const drawn = DRAWN.filter((one) => one.transport === transport);
  test.each(drawn.map((one) => [nameOf(one), one] as const))("%s", (_name, { mode, run }) =>
    run(transport, mode),
  );
}
