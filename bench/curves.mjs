/**
 * `npm run bench:curves`: what becomes of the cost of one call, or of memory, as the work grows. Draws each curve
 * into curves/ and writes a sentence for each into results.md. `--only sessions,rules` measures some and writes
 * nothing but the plots. It needs `ulimit -n` of 20,000 or so.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { build } from "../scripts/build.mjs";
import { createMeasure } from "./measure.mjs";
import { plot } from "./plot.mjs";
import { cpuMs, openStreams, rssMiB, stopAll } from "./processes.mjs";
import { circumstances, conditions, writeSection } from "./results.mjs";
import { cardea, httpServers, httpUpstream, passThrough, toolOfEach } from "./targets.mjs";

const measure = createMeasure({ roundSeconds: 0.6, rounds: 7, again: 60, seconds: 1.5, warmSeconds: 0.5 });
const era = "modern";
const plain = ({ url }) => ({ echo: { type: "http", url, prefix: "" } });

/** Runs `work` for each size with a gateway in front of an upstream; `config` says what differs. */
async function atEach(sizes, config, work) {
  const points = [];
  for (const size of sizes) {
    const { upstream: upstreamOptions, servers, rest } = config(size);
    const upstream = await httpUpstream(upstreamOptions);
    const gateway = await cardea(servers(upstream), rest);
    points.push({ size, ...(await work({ gateway, upstream, size })) });
    console.log(`  ${JSON.stringify(points.at(-1))}`);
    await gateway.stop();
    await upstream.stop();
  }
  return points;
}

/** The medians of a few rounds of one gateway. */
const measured = async (gateway, job) => (await measure.interleave({ gateway }, { era, ...job })).gateway;

const CURVES = {
  sessions: {
    title: "Processor time of a call, by sessions",
    x: "legacy sessions that call at once",
    y: "µs a call",
    figures: { "µs a call": "cpuUs", "of the pass-through": "rulerUs" },
    /** One gateway for all: what earlier sessions leave behind would show. */
    async run() {
      const upstream = await httpUpstream();
      const ruler = await passThrough(upstream);
      // A server takes 32 calls at once and lets 100 wait; the rest would be refused, as it should.
      const gateway = await cardea(httpServers(upstream, 20));
      const points = [];
      for (const size of [1, 4, 16, 64, 250, 500, 1000, 2000]) {
        const targets = { gateway, ruler: { ...ruler, job: { tools: ["echo"] } } };
        const job = { era: "legacy", sessions: size, tools: toolOfEach(20) };
        const run = await measure.interleave(targets, job);
        points.push({ size, ...run.gateway, rulerUs: run.ruler.cpuUs });
        console.log(`  ${JSON.stringify(points.at(-1))}`);
      }
      await gateway.stop();
      await ruler.stop();
      await upstream.stop();
      return points;
    },
  },
  upstreams: {
    title: "Processor time of a call and memory, by upstreams",
    x: "HTTP upstreams, each called as often as the others",
    y: "µs a call, MiB",
    figures: { "µs a call": "cpuUs", "MiB resident": "rss" },
    run: () =>
      atEach(
        [1, 3, 10, 30, 100],
        (size) => ({ servers: (upstream) => httpServers(upstream, size) }),
        ({ gateway, size }) => measured(gateway, { sessions: 32, tools: toolOfEach(size) }),
      ),
  },
  tools: {
    title: "Processor time of a list and of a call, by tools",
    x: "tools, from one upstream",
    y: "µs",
    figures: { "µs a list": "list", "µs a call": "cpuUs" },
    run: () =>
      atEach(
        [10, 100, 1000, 10_000],
        (size) => ({ upstream: { tools: size }, servers: plain }),
        async ({ gateway }) => {
          const calls = await measured(gateway, { sessions: 16 });
          const lists = await measured(gateway, { sessions: 4, work: "list" });
          return { ...calls, list: lists.cpuUs };
        },
      ),
  },
  rules: {
    title: "Processor time of a call, by rules that match its tool and do not decide",
    x: "rules, one in fifty with a condition",
    y: "µs a call",
    figures: { "µs a call": "cpuUs" },
    run: () =>
      atEach(
        [0, 10, 100, 300, 1000],
        (size) => ({ servers: plain, rest: { policy: { rules: rules(size) } } }),
        ({ gateway }) => measured(gateway, { sessions: 16 }),
      ),
  },
  size: {
    title: "Processor time of a call, by the size of its answer",
    x: "bytes of the answer",
    y: "µs a call",
    figures: { "µs a call": "cpuUs" },
    run: () =>
      atEach(
        [32, 1024, 10_240, 102_400, 1_048_576, 8_388_608],
        () => ({ servers: plain }),
        ({ gateway, size }) => measured(gateway, { sessions: 8, work: "blob", tool: "blob", bytes: size }),
      ),
  },
  streams: {
    title: "Memory, and processor time of a call, by open event streams",
    x: "event streams that are open and idle",
    y: "MiB, µs a call",
    figures: { "MiB resident": "rss", "µs a call": "cpuUs" },
    run: () =>
      atEach(
        [0, 100, 1000, 3000, 10_000],
        () => ({ servers: plain }),
        async ({ gateway, size }) => {
          const open = size > 0 ? await openStreams(gateway, { era, streams: size }) : undefined;
          await wait(3000);
          const rss = rssMiB(gateway.pids);
          const before = cpuMs(gateway.pids);
          await wait(2000);
          const idle = (cpuMs(gateway.pids) - before) / 2;
          const calls = await measured(gateway, { sessions: 16 });
          await open?.close();
          return { ...calls, rss, idleMsPerSecond: idle, openMs: open?.ms };
        },
      ),
  },
};

function rules(count) {
  return Array.from({ length: count }, (_, at) => ({
    effect: "deny",
    ...(at % 50 === 49
      ? { tools: ["echo"], when: `args.text == 'no-${at}' && principal.id != 'root'` }
      : { tools: [`server-${at}__*`, `*__tool_${at}_*`] }),
  }));
}

/** How a figure grows with the size: as size to the power of `exponent`, by the two ends of the upper half. */
function sentence(name, { figures }, points) {
  const parts = Object.entries(figures).map(([words, figure]) => {
    const known = points.filter(({ size }) => size > 0);
    const [first, last] = [known[0], known.at(-1)];
    const middle = known[Math.floor((known.length - 1) / 2)];
    const exponent = Math.log(last[figure] / middle[figure]) / Math.log(last.size / middle.size);
    const shape =
      exponent < 0.15
        ? "flat"
        : exponent < 0.85
          ? "less than linear"
          : exponent < 1.15
            ? "linear"
            : "**worse than linear**";
    const digits = (value) => Number(value.toPrecision(3));
    return `${words} ${digits(first[figure])} at ${first.size}, ${digits(middle[figure])} at ${middle.size}, ${digits(last[figure])} at ${last.size}: ${shape}`;
  });
  return `- **${name}**: ${parts.join("; ")}. ![](curves/${name}.svg)`;
}

const { values } = parseArgs({ options: { only: { type: "string" } } });
const wanted = Object.entries(CURVES).filter(([name]) => values.only?.split(",").includes(name) ?? true);
const folder = fileURLToPath(new URL("curves/", import.meta.url));
mkdirSync(folder, { recursive: true });
build();
const sentences = [];
try {
  for (const [name, curve] of wanted) {
    console.log(curve.title);
    const points = await curve.run();
    const series = Object.entries(curve.figures).map(([words, figure]) => ({
      name: words,
      points: points.map((point) => [point.size, point[figure]]),
    }));
    writeFileSync(`${folder}${name}.svg`, plot({ ...curve, series }));
    sentences.push(sentence(name, curve, points));
    console.log(sentences.at(-1));
  }
} finally {
  await stopAll();
}
const state = conditions(measure.notes);
console.log(state);
if (values.only === undefined) {
  writeSection(
    "bench:curves",
    "Cost as work grows",
    `${circumstances("npm run bench:curves")}. ${state}\n\n${sentences.join("\n")}`,
  );
}
