/** Situations in which a state, or an answer, comes from where it should not. */
import { expect } from "vitest";
import type { Json } from "../../support/peers/host.js";
import { HOSTS, type ScenarioHost } from "../host.js";
import { type Cell, callIn, expectOneRun, refusalIn, times, toldTo, toolOf } from "./cell.js";
import type { Situation } from "./situations.js";

const ACCEPT = { action: "accept", content: { it: "yes" } };
const REJECTED = { word: "state_rejected", code: -32602 };

interface Round {
  readonly key: string;
  readonly state: string;
}

let lastId = 0;

async function send(cell: Cell, host: ScenarioHost, more: Json, label = cell.label): Promise<Json> {
  lastId += 1;
  const params = { name: toolOf(cell, "form"), arguments: { label }, ...more };
  return host.raw.send(`state ${lastId}`, "tools/call", params);
}

/** The call up to its question. */
async function begin(cell: Cell): Promise<Round> {
  const response = await send(cell, cell.guest, {});
  const result = response.result as { requestState: string; inputRequests: Json };
  const [key] = Object.keys(result.inputRequests);
  return { key: key ?? "", state: result.requestState };
}

/** The next round, with this state, by this host. */
const goOn = (cell: Cell, host: ScenarioHost, { key, state }: Round, label?: string): Promise<Json> =>
  send(cell, host, { inputResponses: { [key]: ACCEPT }, requestState: state }, label);

async function expectEnd(cell: Cell, round: Round): Promise<void> {
  const response = await goOn(cell, cell.guest, round);
  expect(response).toMatchObject({
    result: { content: [{ text: JSON.stringify({ one: { result: ACCEPT } }) }] },
  });
  expectOneRun(cell);
}

/** The text with one character in its middle changed, as far as a reader of Base64 can tell. */
function changed(text: string): string {
  const at = Math.floor(text.length / 2);
  return `${text.slice(0, at)}${text[at] === "A" ? "B" : "A"}${text.slice(at + 1)}`;
}

/** A legacy host that is asked, and the question as it stands on the wire. */
async function asked(cell: Cell) {
  let give: (answer: Json) => void = () => {};
  const answer = new Promise<Json>((resolve) => {
    give = resolve;
  });
  const calling = callIn(cell, "form", () => answer);
  await calling.whenAsked();
  return { calling, give, id: calling.asked[0]?.id };
}

const respond = (host: ScenarioHost, id: unknown, result: Json): Promise<void> =>
  host.raw.wire.post({ jsonrpc: "2.0", id, result });

const forged = { action: "accept", content: { it: "forged" } };

export const STATES: readonly Situation[] = [
  {
    key: "replayed state",
    sentence: "comes back with a state a second time, and nothing happens a second time",
    async run(cell) {
      const round = await begin(cell);
      await expectEnd(cell, round);
      const again = await goOn(cell, cell.guest, round);
      if (cell.upstream.era === "legacy") expect(refusalIn(again)).toEqual(REJECTED);
      else {
        // The state is the server's, and so is the decision; it gets its own bytes and refuses them.
        expect(again).toMatchObject({ error: { code: -32602, message: "this state was used already" } });
        expect(times(cell, "refused")).toBe(1);
      }
      expectOneRun(cell);
    },
    insteadForLegacyHosts: {
      sentence: "answers twice, and the first answer counts",
      async run(cell) {
        const { calling, give, id } = await asked(cell);
        await respond(cell.guest, id, ACCEPT);
        await respond(cell.guest, id, forged);
        give(forged);
        expect(await toldTo(calling)).toEqual({ one: { result: ACCEPT } });
        expectOneRun(cell);
      },
    },
  },
  {
    key: "stolen state",
    sentence: "has its state stolen, which is of no use to the thief and still good for itself",
    async run(cell) {
      const round = await begin(cell);
      const thief = await cell.open(HOSTS.modernHttp, "eve");
      expect(refusalIn(await goOn(cell, thief, round))).toEqual(REJECTED);
      await expectEnd(cell, round);
    },
    insteadForLegacyHosts: {
      sentence: "is not answered for by another session that knows the id of its question",
      async run(cell) {
        const { calling, give, id } = await asked(cell);
        const thief = await cell.open();
        await respond(thief, id, forged);
        give(ACCEPT);
        expect(await toldTo(calling)).toEqual({ one: { result: ACCEPT } });
        expectOneRun(cell);
      },
    },
  },
  {
    key: "tampered state",
    sentence: "changes its state, or what it is good for, and is refused",
    async run(cell) {
      const round = await begin(cell);
      const tampered = { ...round, state: changed(round.state) };
      expect(refusalIn(await goOn(cell, cell.guest, tampered))).toEqual(REJECTED);
      expect(refusalIn(await goOn(cell, cell.guest, round, "another call"))).toEqual(REJECTED);
      await expectEnd(cell, round);
    },
    insteadForLegacyHosts: {
      sentence: "answers under another id, and that is no answer",
      async run(cell) {
        const { calling, give, id } = await asked(cell);
        await respond(cell.guest, String(id), forged);
        await respond(cell.guest, Number(id) + 1000, forged);
        give(ACCEPT);
        expect(await toldTo(calling)).toEqual({ one: { result: ACCEPT } });
        expectOneRun(cell);
      },
    },
  },
];
