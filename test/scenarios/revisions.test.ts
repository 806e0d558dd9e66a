/** Questions between peers of older revisions: each receives only what its revision supports. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Json } from "../support/peers/host.js";
import { eachValue, sample } from "../support/sample.js";
import { SAMPLING } from "../support/scripted/tools.mjs";
import { UPSTREAMS } from "../support/scripted/upstreams.js";
import { HOSTS, type HostKind, openHost, type Question, type ScenarioHost } from "./host.js";
import { openStage, type Stage } from "./stage.js";

const COMPLETION = { role: "assistant", model: "m", content: { type: "text", text: "A hinge." } };
const ACCEPT = { action: "accept", content: { name: "Ada" } };
const ROOTS = { roots: [{ uri: "file:///home/ada" }] };
const answers: Readonly<Record<string, Json>> = {
  "sampling/createMessage": COMPLETION,
  "elicitation/create": ACCEPT,
  "roots/list": ROOTS,
};
const NEWEST = "2025-11-25";
const REVISIONS = [NEWEST, "2025-06-18", "2025-03-26", "2024-11-05"] as const;
const kinds: readonly HostKind[] = Object.values(HOSTS);
const doors = kinds.filter(({ era }) => era === "legacy");

/** The input of the tool, and the questions to the host. */
async function play(
  host: ScenarioHost,
  tool: string,
): Promise<{ readonly told: unknown; readonly asked: readonly Question[] }> {
  const calling = host.call(tool, { label: tool }, ({ method }) => answers[method] ?? {});
  const response = await calling.outcome;
  const [block] = (response.result as { content: { text: string }[] }).content;
  return { told: JSON.parse(block?.text ?? "null") as unknown, asked: calling.asked };
}

/** What the host was shown of a form: its mode, and a field with titled choices. */
function shown([question]: readonly Question[]): { readonly mode: unknown; readonly size: unknown } {
  const { mode, requestedSchema } = (question?.params ?? {}) as {
    mode?: unknown;
    requestedSchema?: { properties: Json };
  };
  return { mode, size: requestedSchema?.properties.size };
}

const TITLED = {
  type: "string",
  oneOf: [
    { const: "s", title: "Small" },
    { const: "l", title: "Large" },
  ],
};
const NAMED = { type: "string", enum: ["s", "l"], enumNames: ["Small", "Large"] };

/** Every revision with servers of both eras, every door and every kind of server. */
const DRAWN = eachValue(
  "revisions",
  REVISIONS.flatMap((revision) =>
    doors.flatMap((door) => UPSTREAMS.map((upstream) => ({ revision, door, upstream }))),
  ),
  ({ revision, door, upstream }) => [`${revision} ${upstream.era}`, door.key, upstream.key],
);

describe("with a host of", () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await openStage(UPSTREAMS);
  });
  afterAll(() => stage.close());

  describe.each(DRAWN.map((drawn) => [drawn.revision, drawn.door.name, drawn.upstream.name, drawn] as const))(
    "%s, %s, %s",
    (revision, _door, _server, { door, upstream: { key, era } }) => {
      let host: ScenarioHost;
      beforeAll(async () => {
        host = await openHost(stage, door, { revision });
      });
      afterAll(() => host.leave());

      test("has its sampling and roots questions answered", async () => {
        const sampling = await play(host, `${key}__sampling`);
        expect(sampling.told).toEqual({ one: { result: COMPLETION } });
        expect(sampling.asked[0]?.params).toEqual({ ...SAMPLING.params, includeContext: "none" });
        expect((await play(host, `${key}__roots`)).told).toEqual({ one: { result: ROOTS } });
      });

      const isShownForm = async (): Promise<void> => {
        const { told, asked } = await play(host, `${key}__form`);
        expect(told).toEqual({ one: { result: ACCEPT } });
        const newest = { mode: "form", size: TITLED };
        expect(shown(asked)).toEqual(revision === NEWEST ? newest : { mode: undefined, size: NAMED });
      };
      const isShownNone = async (): Promise<void> => {
        const { told, asked } = await play(host, `${key}__form`);
        expect(asked).toEqual([]);
        // A modern server can be given nothing but results.
        const legacy = { one: { error: { code: -32601 } } };
        expect(told).toMatchObject(era === "legacy" ? legacy : { one: { result: { action: "cancel" } } });
      };
      const knowsForms = revision >= "2025-06-18";
      test(
        knowsForms ? "has its form shown, as the host knows forms" : "has its form not shown, and is told so",
        knowsForms ? isShownForm : isShownNone,
      );
    },
  );
});

describe.each(sample("revisions of servers", REVISIONS, 2))("a server of %s", (revision) => {
  /** Of each era. */
  const drawn = eachValue(`hosts of a server of ${revision}`, kinds, ({ era }) => [era]);
  const legacy = UPSTREAMS.filter(({ era }) => era === "legacy");
  let stage: Stage;
  beforeAll(async () => {
    stage = await openStage(legacy, { revision, server: { protocol: revision } });
  });
  afterAll(() => stage.close());

  test.each(drawn.map((kind) => [kind.name, kind] as const))(
    "sends sampling and roots questions to %s",
    async (_name, kind) => {
      const host = await openHost(stage, kind);
      for (const { key } of legacy) {
        expect((await play(host, `${key}__sampling`)).told).toEqual({ one: { result: COMPLETION } });
        expect((await play(host, `${key}__roots`)).told).toEqual({ one: { result: ROOTS } });
      }
    },
  );

  test("gets the capabilities that its revision has, and none on a shared connection", async () => {
    for (const kind of drawn) {
      const host = await openHost(stage, kind);
      for (const { key } of legacy) await play(host, `${key}__roots`);
    }
    const promises = {
      "2025-11-25": { sampling: { tools: {} }, elicitation: { form: {}, url: {} } },
      "2025-06-18": { sampling: {}, elicitation: {} },
      "2025-03-26": { sampling: {} },
      "2024-11-05": { sampling: {} },
    }[revision];
    for (const upstream of legacy) {
      const promised = stage
        .upstream(upstream)
        .ledger()
        .filter(({ event }) => event === "initialize")
        .map(({ capabilities }) => capabilities as Json);
      expect(promised[0]).toEqual({});
      for (const one of promised.slice(1)) {
        expect({ ...one, roots: {} }).toEqual({ ...promises, roots: {} });
      }
      expect(promised.length).toBeGreaterThan(1);
    }
  });
});
