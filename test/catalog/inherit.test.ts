import { expect, test, vi } from "vitest";
import { fakeTime, settle } from "../support/fake-time.js";
import { fakeClient, fakeUpstream } from "../support/fake-upstream.js";
import { catalogOf, names, server, tool } from "./support.js";

fakeTime();

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

const asker = fakeClient({ affinity: "s1", session: true, capabilities: { sampling: {} } });

function everything() {
  return fakeUpstream("e", {
    audience: ({ capabilities, affinity }) =>
      capabilities.sampling === undefined
        ? { key: "shared", capabilityClass: "shared" }
        : { key: affinity, capabilityClass: "sampling" },
    lists: { tools: [tool("echo"), tool("print")] },
  }).setList("tools", [tool("echo"), tool("ask")], "sampling");
}

test("a catalog inherits the lists of unchanged servers, and does not request them", async () => {
  const upstream = everything();
  const before = catalogOf([upstream]);
  await settle();
  await before.prepare(asker);
  before.learnUri(asker, "https://example.com/a", "e");
  upstream.listed.length = 0;

  const after = catalogOf([upstream, fakeUpstream("new", { state: "starting" })], { before });
  before.close();
  expect(names(after)).toEqual(names(before));
  expect(names(after, "tools", asker)).toEqual(["e__echo", "e__ask"]);
  expect(after.view(asker).list("tools").revision).toBe(before.view(asker).list("tools").revision);
  expect(after.view(asker).find("resources", "https://example.com/a")?.upstream).toBe("e");
  await pass(1_000);
  expect(upstream.listed).toEqual([]);
  expect(upstream.watchers).toBe(1);
});

test("under new names and filters", async () => {
  const upstream = everything();
  const before = catalogOf([upstream]);
  await settle();
  await before.prepare(asker);
  const after = catalogOf([upstream], {
    before,
    servers: [server("e", { prefix: "x", tools: { allow: ["*"], deny: ["e*"] } })],
  });
  expect(names(after)).toEqual(["x__print"]);
  expect(names(after, "tools", asker)).toEqual(["x__ask"]);
  // And what an earlier filter took away is there again.
  const third = catalogOf([upstream], { before: after });
  expect(names(third, "tools", asker)).toEqual(["e__echo", "e__ask"]);
});

test("including list changes that were announced and not yet loaded", async () => {
  const upstream = everything();
  const before = catalogOf([upstream]);
  await settle();
  upstream.setList("tools", [tool("new")]);
  upstream.listChanged("tools");
  const after = catalogOf([upstream], { before });
  before.close();
  await pass(50);
  expect(names(after)).toEqual(["e__new"]);
});

test("also of a disconnected server, which leaves the lists in its time", async () => {
  const upstream = everything();
  const before = catalogOf([upstream]);
  await settle();
  upstream.goDown();
  const after = catalogOf([upstream], { before });
  before.close();
  expect(names(after)).toEqual(["e__echo", "e__print"]);
  await pass(60_000);
  expect(names(after)).toEqual([]);
  const third = catalogOf([upstream], { before: after });
  expect(names(third)).toEqual([]);
});

test("but nothing of a server that was restarted", async () => {
  const before = catalogOf([everything()]);
  await settle();
  const again = fakeUpstream("e", { state: "starting" });
  expect(names(catalogOf([again], { before }))).toEqual([]);
});
