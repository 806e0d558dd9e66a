/**
 * The life of a gateway with 25 servers: all started at once (`eager`), its first start ever, a start with known lists,
 * calls, and hosts that leave. Each phase yields the rows of the report as they are measured.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  CAN_BE_ASKED,
  CANNOT_BE_ASKED,
  connectHost,
  settled,
  startCardea,
  steady,
  until,
  withoutProcesses,
} from "./gateway.mjs";
import { mcpServers } from "./servers.mjs";

/** A tool of three of the servers, which needs no network. */
const CALLS = [
  ["everything__echo", { message: "economy" }],
  ["memory__read_graph", {}],
  ["filesystem__list_allowed_directories", {}],
];

/** A time limit (ms) for background work: loading lists, and the exit of unused processes. */
const SLACK_MS = 120_000;

/**
 * A config with all servers in `folder`.
 * @param {object} each what every server entry says besides its command
 */
export function configWith(folder, each) {
  const servers = Object.entries(mcpServers(folder)).map(([server, entry]) => [
    server,
    { ...entry, ...each },
  ]);
  const file = join(folder, "cardea.json");
  writeFileSync(file, JSON.stringify({ mcpServers: Object.fromEntries(servers) }));
  return file;
}

const now = () => performance.now();

/** A row of the report: what ran below the gateway at that moment, and what they and the gateway take. */
const row = (moment, gateway, ms) => ({ moment, ...gateway.usage(), ms });

/** The entries that a host should see and does not. */
function missing(seen, expected) {
  const lost = Object.entries(expected).flatMap(([kind, names]) => {
    const found = new Set(seen[kind]);
    return names.filter((name) => !found.has(name)).map((name) => `${kind} ${name}`);
  });
  return { missing: lost.length, firstMissing: lost[0] };
}

const isWhole = (expected) => (lists) => missing(lists, expected).missing === 0;

/** Every server started at once; then hosts of both kinds list. Returns what each of them sees. */
export async function* eager(place) {
  const gateway = await startCardea(place);
  await settled(gateway, SLACK_MS);
  yield row("25 servers started", gateway, now() - gateway.readyAt);
  const plain = await connectHost(gateway.url, CANNOT_BE_ASKED);
  await plain.lists();
  yield row("a host that cannot be asked has listed", gateway);
  const asked = await connectHost(gateway.url, CAN_BE_ASKED);
  await asked.lists();
  await steady(gateway);
  yield row("a host that can be asked has listed too", gateway);
  const seen = { plain: await plain.lists(), asked: await asked.lists() };
  await plain.leave();
  await asked.leave();
  await gateway.stop();
  return seen;
}

/** Nothing is known: the servers are started to learn their lists, and end. */
export async function* firstStart(place, expected) {
  const gateway = await startCardea(place);
  const host = await connectHost(gateway.url, CANNOT_BE_ASKED);
  const first = missing(await host.lists(), expected.plain);
  yield { ...row("the first lists are answered", gateway, now() - gateway.readyAt), ...first };
  await until("all lists", () => host.lists(), isWhole(expected.plain), SLACK_MS);
  yield row("all lists are known", gateway, now() - gateway.readyAt);
  await withoutProcesses(gateway, SLACK_MS);
  yield row("no server runs any more", gateway, now() - gateway.readyAt);
  const asked = await connectHost(gateway.url, CAN_BE_ASKED);
  await until(
    "all lists of a host that can be asked",
    () => asked.lists(),
    isWhole(expected.asked),
    SLACK_MS,
  );
  await withoutProcesses(gateway, SLACK_MS);
  await host.leave();
  await asked.leave();
  await gateway.stop();
}

/**
 * The lists are known from an earlier process. Two hosts list, one calls three tools, and both leave: one ends its
 * session, the other vanishes.
 */
export async function* warmStart(place, expected, idleMs) {
  const gateway = await startCardea(place);
  const plain = await connectHost(gateway.url, CANNOT_BE_ASKED);
  const seen = await plain.lists();
  const ms = now() - gateway.readyAt;
  yield { ...row("a host that cannot be asked has listed", gateway, ms), ...missing(seen, expected.plain) };
  const began = now();
  const asked = await connectHost(gateway.url, CAN_BE_ASKED);
  const seenToo = await asked.lists();
  yield {
    ...row("a host that can be asked has listed too", gateway, now() - began),
    ...missing(seenToo, expected.asked),
  };
  for (const [name, args] of CALLS) await called(asked, name, args);
  yield row("it has called three servers", gateway);
  for (const [name, args] of CALLS) await called(plain, name, args);
  yield row("the other has called them too", gateway);
  await plain.leave();
  await asked.vanish();
  yield row("no process, after both have left", gateway, await withoutProcesses(gateway, idleMs + SLACK_MS));
  await gateway.stop();
}

async function called(host, name, args) {
  const { isError } = await host.call(name, args);
  if (isError) throw new Error(`${name} answered with an error`);
}
