/**
 * `npm run alerts [-- --minutes 60] [--built]`: the shipped alert rules in a real Prometheus that scrapes the built gateway every 15 s,
 * in front of 40 servers of all states. Exactly the alerts of `faults/support/forty-servers.mjs` may fire, each until its server is right.
 * Prints a table and ends with 1 when an alert is missing or false. An alert that needs more time than given is not expected.
 */
import { mkdtempSync } from "node:fs";
import { rm } from "node:fs/promises";
import { setPriority, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { build } from "../scripts/build.mjs";
import { openHost, textOf } from "../test/support/host/host.mjs";
import { fortyServers } from "./support/forty-servers.mjs";
import { startGateway } from "./support/gateway.mjs";
import { hasPrometheus, startPrometheus } from "./support/prometheus.mjs";
import { pause } from "./support/row.mjs";

const { values } = parseArgs({
  options: { minutes: { type: "string", default: "60" }, built: { type: "boolean", default: false } },
});
const MINUTES = Number(values.minutes);
const ROUND_SECONDS = 15;
/** How long the condition of each alert has to hold, with two evaluations on top. */
const FIRES_AFTER_MINUTES = {
  CardeaServerDown: 6,
  CardeaServerFlapping: 12,
  CardeaCallsFail: 20,
  CardeaCallsAreSlow: 13,
};
/** A run of this length lets the alert of a server fire before it is fixed, and end. */
const MINUTES_TO_FIX = 24;

if (!hasPrometheus()) {
  console.error("no /usr/bin/prometheus: apt-get install prometheus");
  process.exit(2);
}
const owned = [];
const own = (thing) => {
  owned.push(thing);
  return thing;
};
const folder = mkdtempSync(join(tmpdir(), "cardea-alerts-"));
let isStopped = false;
const signalled = new Promise((_, reject) => {
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => reject(new Error(`got ${signal}`)));
});
try {
  if (!values.built) build();
  setPriority(5);
  process.exitCode = await Promise.race([run(), signalled]);
} catch (error) {
  console.error(error);
  process.exitCode = 1;
} finally {
  isStopped = true;
  for (const thing of owned.reverse()) await thing.stop().catch((error) => console.error(error));
  await rm(folder, { recursive: true, force: true });
}

/** The whole run; resolves to the exit code. */
async function run() {
  const { cases, redeploy } = await fortyServers({ own, folder });
  const configOf = (isFixed) => ({
    mcpServers: Object.fromEntries(
      cases.map(({ name, entry, fixed }) => [name, isFixed ? (fixed ?? entry) : entry]),
    ),
    audit: { file: join(folder, "audit.jsonl") },
    policy: { rules: [{ name: "no-change", tools: ["ready_1__change"], effect: "deny" }] },
  });
  const gateway = own(await startGateway(configOf(false)));
  const host = await openHost(gateway.url, "modern");
  own({ stop: async () => host.close() });
  const tools = await host.list("tools");
  console.log(
    `${cases.length} servers, ${tools.length} tools, ${MINUTES} minutes from ${new Date().toISOString()}`,
  );
  const prometheus = own(await startPrometheus(join(folder, "prometheus"), gateway.admin, ROUND_SECONDS));
  const from = Date.now() / 1000;
  const traffic = new Map();
  const events = plan({ gateway, host, redeploy, configOf });
  const states = new Map();
  for (let round = 0; !isStopped && Date.now() / 1000 - from < MINUTES * 60; round += 1) {
    const began = Date.now();
    const minute = (began / 1000 - from) / 60;
    while (events.length > 0 && events[0].at <= minute) {
      const { what, work } = events.shift();
      console.log(`minute ${minute.toFixed(1)}: ${what}`);
      await work();
    }
    await Promise.all([callAll(host, cases, round, traffic), noteStates(gateway, states)]);
    await pause(Math.max(0, ROUND_SECONDS * 1000 - (Date.now() - began)));
  }
  return report({ cases, prometheus, from, traffic, states, wasFixed: MINUTES >= MINUTES_TO_FIX });
}

/** What happens when (minutes), in this order. */
function plan({ gateway, host, redeploy, configOf }) {
  const kill = async (name) => {
    const pid = Number(textOf((await host.call(`${name}__pid`)).message));
    if (pid > 1) process.kill(pid, "SIGKILL");
    else console.log(`${name} did not run`);
  };
  const third = MINUTES / 3;
  const crashes = Array.from({ length: Math.floor(MINUTES / 2) }, (_, at) => ({
    at: 2 * at + 1,
    what: "crashing is killed",
    work: () => kill("crashing"),
  }));
  const once = [
    { at: third * 0.8, what: "killed_once is killed", work: () => kill("killed_once") },
    { at: third, what: "the config fixes a server", work: async () => gateway.configure(configOf(true)) },
    {
      at: third + 2,
      what: "a config is refused for half a minute",
      work: async () => gateway.configure('{ "nothing": '),
    },
    {
      at: third + 2.5,
      what: "the config is right again",
      work: async () => gateway.configure(configOf(true)),
    },
    { at: third * 1.5, what: "redeployed is away", work: redeploy.end },
    { at: third * 1.5 + 2, what: "redeployed is back", work: redeploy.begin },
  ];
  return [...crashes, ...(MINUTES >= MINUTES_TO_FIX ? once : [])].toSorted((a, b) => a.at - b.at);
}

/** One call to each server that has any, and one that a rule denies. */
async function callAll(host, cases, round, traffic) {
  const due = cases.filter(({ call, every = 1 }) => call !== undefined && round % every === 0);
  const one = async (name, { tool, args }) => {
    const response = await host.call(`${name}__${tool}`, args).catch((error) => ({ message: { error } }));
    const { result, error } = response.message ?? {};
    const refusal = result?._meta?.["cardea/refusal"]?.code ?? error?.data?.cardea?.code;
    const outcome = refusal ?? (error !== undefined ? "error" : result?.isError ? "tool_error" : "ok");
    const key = `${name} ${outcome}`;
    traffic.set(key, (traffic.get(key) ?? 0) + 1);
  };
  await Promise.all([
    ...due.map(({ name, call }) => one(name, call(round))),
    one("ready_1", { tool: "change" }),
  ]);
}

/** The states in which each server was seen. */
async function noteStates(gateway, states) {
  for (const { name, state } of JSON.parse((await gateway.get("/api/v1/servers")).body))
    states.set(name, (states.get(name) ?? new Set()).add(state));
}

async function report({ cases, prometheus, from, traffic, states, wasFixed }) {
  const to = Date.now() / 1000;
  const [now, history, broken, scrapes] = await Promise.all([
    prometheus.alerts(),
    prometheus.history(from, to),
    prometheus.broken(),
    prometheus.scrapes(from, to),
  ]);
  const firing = history.filter(({ state }) => state === "firing");
  const expected = cases.flatMap(({ name, alerts }) =>
    alerts.map((alert) => ({ name: alert, server: name })),
  );
  const isSame = (a) => (b) => a.name === b.name && a.server === b.server;
  const due = expected.filter(({ name }) => FIRES_AFTER_MINUTES[name] <= MINUTES);
  const missing = due.filter((one) => !firing.some(isSame(one)));
  const unexpected = firing.filter((one) => !expected.some(isSame(one)));
  const isFixed = (server) => cases.some(({ name, fixed }) => name === server && fixed !== undefined);
  const late = now.filter(({ state, server }) => state === "firing" && wasFixed && isFixed(server));
  const gone = due.filter(
    (one) =>
      !(wasFixed && isFixed(one.server)) && !now.some((at) => isSame(one)(at) && at.state === "firing"),
  );
  const minute = (seconds) => ((seconds - from) / 60).toFixed(1);
  const called = (name) =>
    [...traffic]
      .filter(([key]) => key.startsWith(`${name} `))
      .map(([key, times]) => `${times} ${key.slice(name.length + 1)}`)
      .join(", ");
  console.log(
    "\n| server | what it does | states seen | calls | alerts, from and to minute |\n|---|---|---|---|---|",
  );
  for (const { name, state } of cases) {
    const own = firing.filter(({ server }) => server === name);
    const alerts = own.map((one) => `${one.name} ${minute(one.first)} to ${minute(one.last)}`).join(", ");
    const seen = [...(states.get(name) ?? [])].join(", ");
    console.log(`| ${name} | ${state} | ${seen} | ${called(name)} | ${alerts} |`);
  }
  console.log();
  const pending = history.filter((one) => one.state === "pending" && !firing.some(isSame(one)));
  for (const one of pending)
    console.log(`only pending: ${one.name} ${one.server ?? ""} ${minute(one.first)} to ${minute(one.last)}`);
  const figures = [
    ["scrapes", scrapes.all, scrapes.all > 0],
    ["scrapes that failed", scrapes.failed, scrapes.failed === 0],
    ["rules that cannot be evaluated", words(broken), broken.length === 0],
    [
      "alerts that fired, as expected",
      `${due.length - missing.length} of ${due.length}`,
      missing.length === 0,
    ],
    ["expected alerts that never fired", words(missing.map(label)), missing.length === 0],
    ["expected alerts that do not fire at the end", words(gone.map(label)), gone.length === 0],
    ["false alerts", words(unexpected.map(label)), unexpected.length === 0],
    ["alerts of servers that were fixed", words(late.map(label)), late.length === 0],
  ];
  for (const [what, figure, isRight] of figures)
    console.log(`${isRight ? "pass" : "FAIL"}  ${what}: ${figure}`);
  return figures.every(([, , isRight]) => isRight) ? 0 : 1;
}

function label({ name, server, labels }) {
  return `${name} ${server ?? JSON.stringify(labels)}`;
}

function words(list) {
  return list.length === 0 ? "0" : `${list.length}: ${list.join(", ")}`;
}
