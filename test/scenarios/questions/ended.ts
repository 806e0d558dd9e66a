/** Situations in which a question is never answered: cancellation, disconnection, timeout. */
import { expect, vi } from "vitest";
import type { Json } from "../../support/peers/host.js";
import { until } from "../../support/until.js";
import { type Calling, NEVER } from "../host.js";
import { type Cell, callIn, expectOneRun, happens, refusalIn, times, toldTo, toolOf } from "./cell.js";
import type { Situation } from "./situations.js";

const ACCEPT = { action: "accept", content: { it: "yes" } };
const HOUR = 3_600_000;

/** An answer that is given on demand. */
function later(): { readonly answer: () => Promise<Json>; readonly give: () => void } {
  let give = (): void => {};
  const given = new Promise<Json>((resolve) => {
    give = () => resolve(ACCEPT);
  });
  return { answer: () => given, give };
}

/** A question that a legacy host has was taken back from it. */
const isTakenBack = (cell: Cell, before: number): Promise<boolean> =>
  until("the question to be taken back", () => cell.guest.takenBack > before);

async function cancelledByLegacyHost(cell: Cell): Promise<void> {
  const before = cell.guest.takenBack;
  const calling = callIn(cell, "ask_and_work");
  await calling.whenAsked();
  await calling.cancel();
  await isTakenBack(cell, before);
  // A modern server has responded already: no request is running there that could be cancelled, or continue.
  if (cell.upstream.era === "legacy") await happens(cell, "cancelled");
  expect(times(cell, "resumed")).toBe(0);
}

async function cancelledByModernHost(cell: Cell): Promise<void> {
  // While it is asked, a modern host has no running call; it can only cancel the round with its answer.
  const calling = callIn(cell, "ask_and_work", () => ACCEPT);
  await happens(cell, "working");
  await calling.cancel();
  await happens(cell, "cancelled");
}

async function legacyHostGone(cell: Cell): Promise<void> {
  const host = await cell.open();
  const calling = callIn(cell, "ask_and_work", NEVER, host);
  await calling.whenAsked();
  await host.leave();
  if (cell.upstream.era === "legacy") await happens(cell, "cancelled");
  await until("nobody to be asked any more", async () => isAskedNothing(cell));
  expect(times(cell, "resumed")).toBe(0);
}

async function modernHostGone(cell: Cell): Promise<void> {
  const host = await cell.open();
  const calling = callIn(cell, "form", NEVER, host);
  await calling.whenAsked();
  await host.leave();
  if (cell.upstream.era === "legacy") {
    // Its call waits here, but not for ever: then the server gets an error.
    await happens(cell, "cancelled");
    await until("nobody to be asked any more", async () => isAskedNothing(cell));
    expectOneRun(cell, 0);
    return;
  }
  // Nothing waits: a host that returns, however late and over whichever connection, continues.
  const back = await cell.open();
  const [requestState] = calling.states;
  const response = await back.raw.send(`${cell.label} again`, "tools/call", {
    name: toolOf(cell, "form"),
    arguments: { label: cell.label },
    inputResponses: { one: ACCEPT },
    requestState,
  });
  expect(response).toMatchObject({
    result: { content: [{ text: JSON.stringify({ one: { result: ACCEPT } }) }] },
  });
  expectOneRun(cell);
}

/** The status page shows no open question of this server. */
async function isAskedNothing({ stage, upstream }: Cell): Promise<boolean> {
  const open = (await stage.status("questions")) as readonly { readonly server: string }[];
  return !open.some(({ server }) => server === upstream.key);
}

async function legacyUpstreamGone(cell: Cell): Promise<void> {
  const { answer, give } = later();
  const before = cell.guest.takenBack;
  const calling = callIn(cell, "form", answer);
  await calling.whenAsked();
  await cell.server.vanish(cell.label);
  if (cell.host.era === "legacy") await isTakenBack(cell, before);
  else give();
  expect(refusalIn(await calling.outcome)).toEqual({ word: "outcome_unknown" });
  expectOneRun(cell, 0);
}

async function modernUpstreamGone(cell: Cell): Promise<void> {
  const { answer, give } = later();
  const calling = callIn(cell, "form", answer);
  await calling.whenAsked();
  await cell.server.vanish(cell.label);
  if (cell.upstream.transport === "http") {
    give();
    expect(refusalIn(await calling.outcome)).toEqual({ word: "upstream_unavailable" });
    expectOneRun(cell, 0);
    return;
  }
  // The process that the answer starts knows as much as the first: all that matters is in the state.
  await until("the end of the process is noticed, and the next one may start", async () => {
    const servers = (await cell.stage.status("servers")) as readonly { name: string; state: string }[];
    return servers.find(({ name }) => name === cell.upstream.key)?.state === "idle";
  });
  give();
  expect(await toldTo(calling)).toEqual({ one: { result: ACCEPT } });
  expectOneRun(cell);
}

async function expiredForLegacyHost(cell: Cell): Promise<void> {
  const before = cell.guest.takenBack;
  const calling = callIn(cell, "form", NEVER);
  await isTakenBack(cell, before);
  const one = (await toldTo(calling)) as { readonly one: Json };
  // A legacy server can receive an error; a modern one gets the nearest result.
  if (cell.upstream.era === "modern") expect(one).toEqual({ one: { result: { action: "cancel" } } });
  else expect(one).toMatchObject({ one: { error: { code: -32603 } } });
  expectOneRun(cell);
}

async function expiredForModernHost(cell: Cell): Promise<void> {
  const { answer, give } = later();
  const calling = callIn(cell, "form", answer);
  await calling.whenAsked();
  expect(refusalIn(await comingTooLate(cell, calling, give))).toEqual({
    word: "state_rejected",
    code: -32602,
  });
  expectOneRun(cell, 0);
}

async function comingTooLate(cell: Cell, calling: Calling, give: () => void): Promise<Json> {
  if (cell.upstream.era === "legacy") {
    await happens(cell, "cancelled");
    give();
    return calling.outcome;
  }
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 2 * HOUR });
  try {
    give();
    return await calling.outcome;
  } finally {
    vi.useRealTimers();
  }
}

export const ENDED: readonly Situation[] = [
  {
    key: "cancelled by host",
    sentence: "cancels the call, and everybody hears of it",
    run: (cell) => (cell.host.era === "legacy" ? cancelledByLegacyHost(cell) : cancelledByModernHost(cell)),
  },
  {
    key: "host gone",
    sentence: "goes away while it is asked, and nothing is left behind",
    stage: "impatient",
    stageFor: "modern",
    run: (cell) => (cell.host.era === "legacy" ? legacyHostGone(cell) : modernHostGone(cell)),
  },
  {
    key: "upstream gone",
    sentence: "hears what can be known when the server goes away while it is asked",
    stage: "own",
    run: (cell) => (cell.upstream.era === "legacy" ? legacyUpstreamGone(cell) : modernUpstreamGone(cell)),
  },
  {
    key: "expired",
    sentence: "does not answer in time, and the server is not kept waiting",
    stage: "impatient",
    run: (cell) => (cell.host.era === "legacy" ? expiredForLegacyHost(cell) : expiredForModernHost(cell)),
  },
];
