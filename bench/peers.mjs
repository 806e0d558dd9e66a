/**
 * `npm run bench:peers`: P12. Installs three other gateways in a folder of their own, and measures each beside Cardea
 * and the pass-through, round by round in the same run. A peer that cannot run here is named with the reason.
 */
import { build } from "../scripts/build.mjs";
import { asTable, inOneLine, within } from "./goals.mjs";
import { createMeasure } from "./measure.mjs";
import { installPeers, PEERS, startPeer, VERSIONS } from "./peer-programs.mjs";
import { stopAll } from "./processes.mjs";
import { circumstances, conditions, writeSection } from "./results.mjs";
import { cardea, httpUpstream, passThrough, stdioServer } from "./targets.mjs";

const SESSIONS = 16;

build();
installPeers();
const measure = createMeasure({ roundSeconds: 0.6, rounds: 12, again: 60, seconds: 2, warmSeconds: 1 });
const rows = [];
const figures = [];
const absent = [];
try {
  const upstream = await httpUpstream();
  const ruler = await passThrough(upstream);
  const servers = {
    http: { type: "http", url: upstream.url, prefix: "" },
    stdio: { ...stdioServer(), prefix: "" },
  };
  for (const [transport, server] of Object.entries(servers)) {
    const targets = { "pass-through": ruler, Cardea: await cardea({ echo: server }) };
    for (const name of Object.keys(PEERS).filter((peer) => PEERS[peer].upstream === transport)) {
      try {
        targets[name] = await startPeer(name, upstream.url);
      } catch (error) {
        absent.push(`${name} ${VERSIONS[name]} does not run here: ${error.message.trim().split("\n")[0]}`);
        console.log(absent.at(-1));
      }
    }
    const result = await measure.interleave(targets, { era: "legacy", sessions: SESSIONS });
    for (const name of Object.keys(targets)) {
      const { perSecond, p50, p99, cpuUs, rss } = result[name];
      const ratio = result.against(name, "pass-through", "perSecond").toFixed(2);
      const version = VERSIONS[name] === undefined ? "" : ` ${VERSIONS[name]}`;
      figures.push(
        `| ${transport} | ${name}${version} | ${Math.round(perSecond)} | ${ratio} | ${p50.toFixed(2)} | ${p99.toFixed(2)} | ${cpuUs.toFixed(0)} | ${rss.toFixed(0)} |`,
      );
      if (VERSIONS[name] !== undefined) {
        const faster = {
          value: result.against("Cardea", name, "perSecond"),
          goal: 10,
          floor: 5,
          atLeast: true,
          unit: " ×",
          digits: 1,
        };
        const shorter = {
          value: result.against(name, "Cardea", "p99"),
          goal: 10,
          atLeast: true,
          unit: " ×",
          digits: 1,
        };
        rows.push(
          within("P12", `calls a second, and p99 the other way round, against ${name} (${transport})`, [
            faster,
            shorter,
          ]),
        );
        console.log(inOneLine(rows.at(-1)));
      }
      if (name !== "pass-through") await targets[name].stop();
    }
  }
} finally {
  await stopAll();
}
const state = conditions(measure.notes);
const table = [
  "| upstream | gateway | calls/s | of pass-through | p50 ms | p99 ms | processor µs a call | MiB |",
  "|---|---|---|---|---|---|---|---|",
  ...figures,
];
console.log([...table, state].join("\n"));
const text = [
  `${circumstances("npm run bench:peers")}; ${SESSIONS} legacy sessions, a 32-byte echo. ${state}`,
  table.join("\n"),
  asTable(rows),
  ...absent,
];
writeSection("bench:peers", "Against others", text.join("\n\n"));
