/** P1 to P6: calls of tools over HTTP and stdio, plain and guarded, small and large; throughput, latency, processor time. */
import { createHash } from "node:crypto";
import { times, within } from "../goals.mjs";
import { cardea, httpUpstream, passThrough, stdioServer } from "../targets.mjs";

/** Names as the upstream has them, as the pass-through has them. */
const plain = { prefix: "" };
export const KEY = "bench-key-that-only-this-benchmark-knows";

/** Twenty rules of which six have a condition to be worked out, and none of which decides. */
export const GUARDED = {
  auth: { keys: [{ id: "bench", hash: createHash("sha256").update(KEY).digest("hex"), groups: ["dev"] }] },
  policy: {
    rules: [
      ...Array.from({ length: 14 }, (_, i) => ({ tools: [`server-${i}__*`, `*_drop_${i}`], effect: "deny" })),
      { tools: ["echo"], when: "args.text == 'drop everything'", effect: "deny" },
      { tools: ["e*"], when: "args.text.startsWith('sudo ')", effect: "deny" },
      { when: "'admin' in principal.groups && args.env == 'prod'", effect: "approve" },
      { when: "principal.id == 'nobody'", effect: "deny" },
      { when: "size(args.text) > 100000", effect: "deny" },
      { when: "args.text.matches('(?i)password')", effect: "deny" },
    ],
  },
  limits: [
    { tools: ["*"], rate: "1000000/s", per: "principal" },
    { tools: ["echo"], rate: "1000000/s", per: "tool" },
    { tools: ["*"], concurrency: 1000, queue: 100, per: "server" },
  ],
};

/** Of two processes of the same program one may be a tenth slower for as long as it lives, so there are some of each. */
const PROCESSES = 3;

export async function* calls({ measure, quick }) {
  const share = quick ? 1 : PROCESSES;
  const found = new Map();
  for (let n = 1; n <= share; n += 1) {
    const { ruler, open, guarded, logged, stop } = await startAll(quick);
    for (const era of ["legacy", "modern"]) {
      for (const sessions of quick ? [16] : [16, 64]) {
        const where = `${sessions} sessions, ${era}`;
        const before = found.get(where)?.result;
        const result = await measure.interleave(
          { ruler, open, guarded },
          { era, sessions },
          { before, share },
        );
        found.set(where, { sessions, result });
      }
    }
    if (n === share) {
      for (const [where, { sessions, result }] of found) yield* calling(where, sessions, result);
      if (logged !== undefined) {
        const result = await measure.interleave({ ruler, guarded, logged }, { era: "modern", sessions: 16 });
        const work = "P2, and each call a line of the log, 16 sessions, modern";
        yield throughput("P2", work, result, "logged", [0.8, 0.45, 50]);
      }
      for (const era of quick ? ["legacy"] : ["legacy", "modern"]) {
        yield* alone(await measure.interleave({ ruler, open }, { era, sessions: 1 }), era);
        yield* large({ ruler, open }, era, measure, quick);
      }
    }
    await stop();
  }
}

async function startAll(quick) {
  const upstream = await httpUpstream();
  const ruler = await passThrough(upstream);
  const servers = { echo: { type: "http", url: upstream.url, ...plain } };
  const open = await cardea(servers);
  const guarded = { ...(await cardea(servers, GUARDED)), key: KEY };
  const logged = quick
    ? undefined
    : { ...(await cardea(servers, GUARDED, { env: { CARDEA_LOG_LEVEL: "debug" } })), key: KEY };
  const stop = async () => {
    for (const target of [open, guarded, logged, ruler, upstream]) await target?.stop();
  };
  return { ruler, open, guarded, logged, stop };
}

function* calling(where, sessions, result) {
  yield throughput("P1", `tools/call, HTTP upstream, ${where}`, result, "open", [1, 0.55, 38]);
  yield throughput("P2", `the same with auth, 20 rules, limits`, result, "guarded", [0.8, 0.45, 50]);
  const p99 = result.against("open", "ruler", "p99");
  const detail = ms("p99", result.open.p99, result.ruler.p99);
  yield times("P5", `p99 at ${where}`, p99, sessions === 16 ? 1.5 : 1.2, 3, detail, {
    evaluated: result.calm,
  });
}

function* alone(result, era) {
  for (const [figure, goal, floor] of [
    ["p50", 1.1, 1.6],
    ["p99", 1.2, 3],
  ]) {
    const ratio = result.against("open", "ruler", figure);
    const detail = ms(figure, result.open[figure], result.ruler[figure]);
    const evaluated = { evaluated: result.calm };
    yield times("P4", `${figure} with one session, ${era}`, ratio, goal, floor, detail, evaluated);
  }
}

async function* large(targets, era, measure, quick) {
  for (const [size, bytes] of [["10 KiB", 10_240], ...(quick ? [] : [["1 MiB", 1_048_576]])]) {
    const result = await measure.interleave(targets, {
      era,
      sessions: 16,
      work: "blob",
      tool: "blob",
      bytes,
    });
    yield throughput("P6", `answers of ${size}, 16 sessions, ${era}`, result, "open", [1, 0.6]);
  }
}

export async function* stdioCalls({ measure, quick }) {
  const share = quick ? 1 : PROCESSES;
  const found = new Map();
  for (let n = 1; n <= share; n += 1) {
    const upstream = await httpUpstream();
    const ruler = await passThrough(upstream);
    const open = await cardea({ echo: { ...stdioServer(), ...plain } });
    for (const era of ["legacy", "modern"]) {
      const before = found.get(era);
      found.set(era, await measure.interleave({ ruler, open }, { era, sessions: 16 }, { before, share }));
    }
    for (const target of [open, ruler, upstream]) await target.stop();
  }
  for (const [era, result] of found) {
    yield throughput("P3", `tools/call, stdio upstream, 16 sessions, ${era}`, result, "open", [1.4, 0.8]);
  }
}

/**
 * The ratio to the pass-through, and where the goal names it the processor time of a call. Where others were busy,
 * a ratio says little: then the floor holds for the processor time too.
 */
function throughput(id, work, result, name, [goal, floor, cpuGoal]) {
  const target = result[name];
  const ratio = result.against(name, "ruler", "perSecond");
  const detail = `${Math.round(target.perSecond)} against ${Math.round(result.ruler.perSecond)} calls/s, ${target.cpuUs.toFixed(0)} against ${result.ruler.cpuUs.toFixed(0)} µs of processor a call, ${ms("p99", target.p99, result.ruler.p99)}`;
  const cpu = cpuGoal === undefined ? [] : [{ value: target.cpuUs, goal: cpuGoal, unit: " µs", digits: 0 }];
  const evaluated = result.calm || result.against("ruler", name, "cpuUs") < floor;
  return within(id, work, [{ value: ratio, atLeast: true, goal, floor, digits: 2 }, ...cpu], detail, {
    evaluated,
  });
}

const ms = (name, mine, rulers) => `${name} ${mine.toFixed(3)} against ${rulers.toFixed(3)} ms`;
