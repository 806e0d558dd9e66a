/** A list that has changed at one replica is loaded by the others, and never for ever. */
import { expect, test } from "vitest";
import { SILENT } from "../../../src/core/logger.js";
import { ServersOfReplicas } from "../../../src/features/cluster/shared-servers.js";
import { catalogOf, names, tool } from "../../catalog/support.js";
import { fakeTime, pass } from "../../support/fake-time.js";
import { type FakeUpstream, fakeUpstream } from "../../support/fake-upstream.js";
import { messagesInMemory } from "./peer-messages.js";
import { SECRET } from "./replicas.js";

fakeTime();

const files = (...tools: readonly string[]): FakeUpstream =>
  fakeUpstream("files", { lists: { tools: tools.map((each) => tool(each)) } });

let loads = 0;
/** Lists another tool each time. */
function restless(): FakeUpstream {
  const upstream = files();
  const list = upstream.list.bind(upstream);
  upstream.list = (...about) => {
    loads += 1;
    upstream.setList("tools", [tool(`tool_${loads}`)]);
    return list(...about);
  };
  return upstream;
}

/** Catalogs of replicas, each over its own connection to the server. */
function replicas(upstreams: readonly FakeUpstream[]) {
  const messagesOf = messagesInMemory();
  return upstreams.map((upstream, at) => {
    const servers = new ServersOfReplicas(messagesOf(`rep0${at}`), SECRET, SILENT);
    return catalogOf([upstream], { listHints: (server) => servers.of(server) });
  });
}

/** How often the server was asked for its tools. */
const asked = ({ listed }: FakeUpstream): number => listed.filter((each) => each.startsWith("tools")).length;

test("a replica without a list_changed of its own reloads the list that another found changed", async () => {
  const [one, two] = [files("read"), files("read")];
  const [, second] = replicas([one, two]);
  await pass(1_000);
  for (const each of [one, two]) each.setList("tools", [tool("read"), tool("write")]);
  one.listChanged("tools");
  await pass(1_000);
  expect(second && names(second)).toEqual(["files__read", "files__write"]);
});

test("a replica that has the current list does not request it again", async () => {
  const [one, two] = [files("read"), files("read")];
  replicas([one, two]);
  await pass(1_000);
  for (const each of [one, two]) {
    each.setList("tools", [tool("read"), tool("write")]);
    each.listChanged("tools");
  }
  await pass(5_000);
  expect([asked(one), asked(two)]).toEqual([2, 2]);
});

test("replicas of a server whose list always differs do not notify each other endlessly", async () => {
  const [one, two] = [restless(), restless()];
  replicas([one, two]);
  await pass(1_000);
  one.listChanged("tools");
  await pass(60_000);
  expect([asked(one), asked(two)]).toEqual([2, 2]);
});

test("an idle connection is not opened for it", async () => {
  const [one, two] = [files("read"), files("read")];
  replicas([one, two]);
  await pass(1_000);
  two.rest();
  one.setList("tools", [tool("read"), tool("write")]);
  one.listChanged("tools");
  await pass(5_000);
  expect([asked(two), two.sought]).toEqual([1, 0]);
});

test("the list of another server is ignored", async () => {
  const [one, two] = [files("read"), fakeUpstream("git", { lists: { tools: [tool("read")] } })];
  replicas([one, two]);
  await pass(1_000);
  one.setList("tools", [tool("write")]);
  one.listChanged("tools");
  await pass(5_000);
  expect(asked(two)).toBe(1);
});

test("a closed catalog sends no requests", async () => {
  const [one, two] = [files("read"), files("read")];
  const [, second] = replicas([one, two]);
  await pass(1_000);
  second?.close();
  one.setList("tools", [tool("write")]);
  one.listChanged("tools");
  await pass(5_000);
  expect(asked(two)).toBe(1);
});
