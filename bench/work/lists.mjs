/** P7 and P8: the cost of a list of 1000 tools, and of a list_changed. */
import { setTimeout as wait } from "node:timers/promises";
import { times, within } from "../goals.mjs";
import { median } from "../measure.mjs";
import { cpuMs } from "../processes.mjs";
import { cardea, httpServers, httpUpstream, passThrough, toolOfEach } from "../targets.mjs";

const SERVERS = 10;
/** With the three that every server has, 1000 in all. */
const TOOLS_EACH = 97;
const ANNOUNCEMENTS = 20;
const WAVES = 7;
/** Before those that count: until V8 has compiled what they run through, WebAssembly included. */
const WARM_WAVES = 12;
const LIST_MS = 1000;

export async function* lists({ measure, quick }) {
  const whole = await httpUpstream({ tools: 1000 });
  const ruler = await passThrough(whole);
  const parts = await httpUpstream({ tools: TOOLS_EACH });
  const gateway = await cardea(httpServers(parts, SERVERS));
  for (const era of quick ? ["legacy"] : ["legacy", "modern"]) {
    const result = await measure.interleave({ ruler, gateway }, { era, sessions: 4, work: "list" });
    const cpu = result.gateway.cpuUs / 1000;
    const detail = `p50 ${result.gateway.p50.toFixed(2)} against ${result.ruler.p50.toFixed(2)} ms`;
    const work = `processor for a list of 1000 tools, ${SERVERS} upstreams, ${era}`;
    yield within("P7", work, [{ value: cpu, goal: 0.2, floor: 0.8, unit: " ms" }], detail);
    yield times("P7", `p50 of that list, ${era}`, result.against("gateway", "ruler", "p50"), 0.6, 2, detail, {
      evaluated: result.calm,
    });
  }
  if (!quick) yield await refreshing(parts, gateway);
  for (const target of [gateway, ruler, whole, parts]) await target.stop();
  if (!quick) yield* callingMeanwhile(measure);
}

/** Every server says 20 times that its list has changed, and it has. */
async function refreshing(parts, gateway) {
  await wait(1000);
  const idle = await spent(gateway, async () => {});
  const { listeners } = await parts.control("counts");
  if (listeners < SERVERS) throw new Error(`${listeners} of ${SERVERS} servers can announce a change`);
  const wave = () => spent(gateway, () => parts.control("announce", { times: ANNOUNCEMENTS }));
  const first = (await wave()) - idle;
  await warm(parts, WARM_WAVES - 1);
  const { lists: before } = await parts.control("counts");
  const waves = [];
  for (let n = 0; n < WAVES; n += 1) {
    waves.push((await wave()) - idle);
  }
  const { lists } = await parts.control("counts");
  const asked = (lists - before) / SERVERS / WAVES;
  return within(
    "P8",
    `all ${SERVERS} lists change, announced ${ANNOUNCEMENTS} times each; asked for a server`,
    [
      { value: median(waves), goal: 10, unit: " ms", digits: 1 },
      { value: asked, goal: 2, unit: " lists", digits: 1 },
    ],
    `the ${WARM_WAVES + 1}th to ${WARM_WAVES + WAVES}th time; the first, with code that has hardly run yet, ${first.toFixed(1)} ms; without any change ${idle.toFixed(1)} ms in 1.5 s`,
  );
}

/** The processor time (ms) of a gateway for some work and the 1.5 s after it. */
async function spent(gateway, work) {
  const before = cpuMs(gateway.pids);
  await work();
  await wait(1500);
  return cpuMs(gateway.pids) - before;
}

async function warm(parts, waves) {
  for (let n = 0; n < waves; n += 1) {
    await parts.control("announce", { times: ANNOUNCEMENTS });
    await wait(300);
  }
}

/** A warm gateway with servers of its own; `wave` resolves to the processor time (ms) of the change of all their lists. */
export async function changingLists(options) {
  const parts = await httpUpstream({ tools: TOOLS_EACH });
  const gateway = await cardea(httpServers(parts, SERVERS), {}, options);
  await wait(1000);
  await warm(parts, WARM_WAVES);
  const idle = await spent(gateway, async () => {});
  return {
    wave: async () =>
      (await spent(gateway, () => parts.control("announce", { times: ANNOUNCEMENTS }))) - idle,
    async stop() {
      await gateway.stop();
      await parts.stop();
    },
  };
}

/** No call and no list waits for servers that take a second to list. */
async function* callingMeanwhile(measure) {
  const parts = await httpUpstream({ tools: TOOLS_EACH, listMs: LIST_MS });
  const gateway = await cardea(httpServers(parts, SERVERS));
  await wait(LIST_MS * 2);
  for (const work of ["echo", "list"]) {
    const job = { era: "modern", sessions: 4, seconds: 2, work, tools: toolOfEach(SERVERS) };
    const quiet = await measure.once(gateway, job);
    const { lists: before } = await parts.control("counts");
    const announced = wait(1500).then(() => parts.control("announce", { times: ANNOUNCEMENTS }));
    const busy = await measure.once(gateway, job);
    await announced;
    const { lists } = await parts.control("counts");
    const what = work === "echo" ? "calls" : "lists";
    yield within(
      "P8",
      `the longest of the ${what} while servers take ${LIST_MS} ms to list anew`,
      [{ value: busy.max, goal: LIST_MS / 2, unit: " ms", digits: 0 }],
      `${quiet.max.toFixed(1)} ms without; p99 ${busy.p99.toFixed(2)} against ${quiet.p99.toFixed(2)} ms; ${lists - before} lists asked for`,
    );
    await wait(LIST_MS);
  }
  for (const target of [gateway, parts]) await target.stop();
}
