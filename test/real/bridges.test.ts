/** One server under its own names: at /mcp/NAME, as `cardea -- COMMAND`, and as `cardea connect URL`. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { bridge, MAIN, writeConfig } from "../support/cardea.js";
import { type Era, fixtureCommand, startFixture } from "../support/fixture.js";
import { gatedServer } from "../support/gated-server.js";
import { type MetGateway, metGateway } from "../support/met-gateway.js";
import {
  type Host,
  type Json,
  LISTS,
  type List,
  type Outcome,
  type Place,
  whenListed,
} from "../support/peers/host.js";
import { openLegacy, openModern } from "../support/peers/raw.js";
import { sample } from "../support/sample.js";
import { until } from "../support/until.js";
import { withoutHeaderMarks, withoutModernFrame, withoutTasks } from "./exposure.js";
import { realServers } from "./servers.js";

const EVERYTHING = realServers("/")[0]?.place as Extract<Place, { command: string }>;
const open = (era: Era, place: Place): Promise<Host> =>
  era === "legacy" ? openLegacy(place) : openModern(place);

/** A few requests whose answers say enough, by the names of the fixture and of server-everything. */
const REQUESTS: Readonly<Record<string, readonly (readonly [string, Json])[]>> = {
  fixture: [
    ["tools/call", { name: "echo", arguments: { value: { deep: [1, "two", null] } } }],
    ["tools/call", { name: "test_multiple_content_types", arguments: {} }],
    ["tools/call", { name: "test_resource_link", arguments: {} }],
    ["tools/call", { name: "test_error_handling", arguments: {} }],
    ["prompts/get", { name: "test_prompt_with_arguments", arguments: { arg1: "a", arg2: "b" } }],
    ["resources/read", { uri: "test://static-binary" }],
    ["resources/read", { uri: "test://template/7/data" }],
    [
      "completion/complete",
      {
        ref: { type: "ref/prompt", name: "test_prompt_with_arguments" },
        argument: { name: "arg1", value: "par" },
      },
    ],
  ],
  everything: [
    [
      "tools/call",
      { name: "get-annotated-message", arguments: { messageType: "error", includeImage: true } },
    ],
    ["tools/call", { name: "get-structured-content", arguments: { location: "Chicago" } }],
    ["prompts/get", { name: "args-prompt", arguments: { city: "Paris" } }],
    ["resources/read", { uri: "demo://resource/static/document/features.md" }],
  ],
};

interface Face {
  readonly introduction: Json;
  readonly lists: Readonly<Record<string, readonly Json[]>>;
  readonly outcomes: readonly Outcome[];
}

/**
 * A host with the server's introduction, as `direct` has it: a gateway waits for a starting server, though not for
 * long.
 */
async function openTold(era: Era, place: Place, direct: Face): Promise<Host> {
  for (let attempt = 1; ; attempt += 1) {
    const host = await open(era, place);
    if (attempt === 5 || host.introduction().instructions === direct.introduction.instructions) return host;
    await host.close();
  }
}

/**
 * What a host sees of a server, with what only its own era adds left out; of one that is starting, once there is as
 * much of everything as `direct` has seen.
 */
async function faceOf(host: Host, server: string, direct?: Face): Promise<Face> {
  await whenListed(host, "echo");
  for (const list of Object.keys(LISTS) as List[]) {
    const enough = direct?.lists[list]?.length ?? 0;
    await until(`the list of ${list}`, async () => (await host.list(list)).length >= enough);
  }
  const { capabilities, instructions } = host.introduction();
  const lists: Record<string, readonly Json[]> = {};
  for (const list of Object.keys(LISTS) as List[])
    lists[list] = (await host.list(list)).map((item) => withoutHeaderMarks(withoutTasks(item)));
  const outcomes: Outcome[] = [];
  for (const [method, params] of REQUESTS[server] ?? []) {
    outcomes.push(withoutModernFrame(await host.request(method, params)));
  }
  await host.close();
  return { introduction: { capabilities: comparable(capabilities), instructions }, lists, outcomes };
}

/**
 * Capabilities without what a gateway may add (it can always tell that a list has changed), and without what is
 * between a host and a server of one era: extensions, and the tasks of the legacy one.
 */
function comparable(capabilities: Json): Json {
  const { tasks: _tasks, extensions: _extensions, ...rest } = capabilities;
  return Object.fromEntries(
    Object.entries(rest).map(([name, value]) => [name, { ...(value as Json), listChanged: true }]),
  );
}

const SERVERS = [
  { name: "old", server: "fixture", era: "legacy", place: fixtureCommand("legacy") },
  { name: "young", server: "fixture", era: "modern", place: fixtureCommand("modern") },
  { name: "real", server: "everything", era: "legacy", place: EVERYTHING },
] as const satisfies readonly { name: string; server: string; era: Era; place: Place }[];
const HOSTS: readonly Era[] = ["legacy", "modern"];

/** Bridges in processes of their own. */
const BRIDGED = sample(
  "bridges",
  SERVERS.flatMap(({ name }) => HOSTS.map((host) => [name, host] as const)),
  1,
);

let gateway: MetGateway;
beforeAll(async () => {
  gateway = await metGateway({
    mcpServers: Object.fromEntries(SERVERS.map(({ name, place }) => [name, { ...place, prefix: name }])),
  });
});
afterAll(() => gateway.stop());

describe.concurrent.each(SERVERS)("a $era server ($server)", ({ name, server, era, place }) => {
  let direct: Face;
  beforeAll(async () => {
    direct = await faceOf(await open(era, place), server);
  });

  test.each(HOSTS)("is served at /mcp/NAME to a %s host", async (host) => {
    const through = await openTold(host, { url: `${gateway.url}/${name}` }, direct);
    expect(await faceOf(through, server, direct)).toEqual(direct);
  });

  const bridged = BRIDGED.filter(([of]) => of === name).map(([, host]) => host);
  test.each(bridged)("is served by cardea -- COMMAND to a %s host", async (host) => {
    const gateway = await bridge(place.command, place.args);
    try {
      const through = await openTold(host, { url: gateway.url }, direct);
      expect(await faceOf(through, server, direct)).toEqual(direct);
    } finally {
      await gateway.stop();
    }
  });
});

const CONNECTED = sample(
  "cardea connect",
  HOSTS.flatMap((era) => HOSTS.map((host) => [era, host] as const)),
  1,
);

test.concurrent.each(CONNECTED)(
  "a %s server at a URL is served by cardea connect URL to a %s host",
  async (era, host) => {
    const fixture = await startFixture(era, "http");
    try {
      const url = String(fixture.entry.url);
      const direct = await faceOf(await open(era, { url }), "fixture");
      const connect = {
        command: process.execPath,
        args: [MAIN, "connect", url, "--header", "X-Test: 1"],
      };
      const through = await openTold(host, connect, direct);
      expect(await faceOf(through, "fixture", direct)).toEqual(direct);
    } finally {
      await fixture.stop();
    }
  },
);

// Under its own names a server is awaited for seconds, as the reason is: a busy machine starts no program at once.
describe.concurrent("the single server of a bridge", () => {
  const dead: readonly (readonly [string, Place, RegExp])[] = [
    [
      "at a URL where nobody listens",
      { command: process.execPath, args: [MAIN, "connect", "http://127.0.0.1:9/mcp"] },
      /connection refused/,
    ],
    [
      "whose program is not there",
      stdioWith({ command: "no-such-program-anywhere", prefix: "" }),
      /no-such-program-anywhere/,
    ],
    [
      "that ends at once",
      stdioWith({ command: "node", args: ["-e", "process.exit(3)"], prefix: "" }),
      /exited with code 3/,
    ],
  ];

  const failing = sample(
    "failing bridges",
    HOSTS.flatMap((host) => dead.map(([what, place, why]) => [what, host, place, why] as const)),
    2,
  );
  test.each(failing)("%s: the start of a %s host fails with the reason", async (_what, host, place, why) => {
    await expect(open(host, place)).rejects.toThrow(why);
  });

  test("is awaited while it starts, so that its names are served without prefix", async () => {
    const late = await gatedServer();
    const opened = openLegacy(stdioWith({ ...late.entry, prefix: "" }));
    await late.open();
    const host = await opened;
    expect(host.introduction().instructions).toContain("A server for tests");
    await host.close();
    late.close();
  });

  test("that fails to start is omitted if the bridge has another server", async () => {
    const host = await openLegacy(
      stdioWith({ command: "no-such-program-anywhere" }, fixtureCommand("legacy")),
    );
    await until("the tools of the other", async () => (await host.list("tools")).length > 0);
    await host.close();
  });
});

/** `cardea stdio` with these servers. */
function stdioWith(...servers: readonly object[]): Extract<Place, { command: string }> {
  const config = { mcpServers: Object.fromEntries(servers.map((entry, index) => [`s${index}`, entry])) };
  return { command: process.execPath, args: [MAIN, "stdio", "--config", writeConfig(config).file] };
}
