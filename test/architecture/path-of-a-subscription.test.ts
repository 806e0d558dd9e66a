/** Through which files a subscription to a resource goes to its server, and an update comes back. */
import { expect, test, vi } from "vitest";
import { createCatalog } from "../../src/catalog/catalog.js";
import { Subscriptions } from "../../src/downstream/legacy/subscriptions.js";
import { LegacyConnection } from "../../src/upstream/legacy/connection.js";
import { SELF, server } from "../catalog/support.js";
import { HTTP, legacyServer } from "../support/fake-channel.js";
import { fakeTime, pass } from "../support/fake-time.js";
import { fakeClient } from "../support/fake-upstream.js";
import { meet } from "../support/met-upstream.js";

fakeTime();

/** The files of `src/` that are on the stack, the outermost first. */
function filesOnStack(): readonly string[] {
  const before = Error.stackTraceLimit;
  Error.stackTraceLimit = 100;
  const { stack = "" } = new Error();
  Error.stackTraceLimit = before;
  const files = [...stack.matchAll(/\/src\/([\w/-]+\.ts)/g)].map(([, file = ""]) => file).toReversed();
  return files.filter((file, at) => file !== files[at - 1]);
}

test("leads over the bus of changes and the subscriptions of the server, and back over its events", async () => {
  const files = legacyServer().on("resources/list", { resources: [{ uri: "x:a", name: "a" }] });
  const { upstream } = await meet(files.on("resources/subscribe", {}), { transport: HTTP });
  const catalog = createCatalog({
    upstreams: [upstream],
    servers: [server(upstream.name)],
    naming: { separator: "__", maxLength: 60 },
    self: SELF,
  });
  await pass(100);
  const client = fakeClient();
  const [entry] = catalog.view(client).list("resources").entries;
  const paths: (readonly string[])[] = [];
  const subscribe = vi.spyOn(LegacyConnection.prototype, "subscribe").mockImplementation(() => {
    paths.push(filesOnStack());
  });
  const subscriptions = new Subscriptions(catalog.changes, client, {
    send: () => {
      paths.push(filesOnStack());
      return true;
    },
  });
  await subscriptions.subscribeResource(entry?.route.exposed ?? "");
  files.channel.say("notifications/resources/updated", { uri: "x:a" });
  await pass(100);
  subscribe.mockRestore();
  subscriptions.close();
  catalog.close();
  expect(paths).toEqual([
    [
      "downstream/legacy/subscriptions.ts",
      "catalog/change-bus.ts",
      // The subscriptions of clients, and those of the connection that the client uses; then the connection itself.
      "upstream/leases/resource-subscriptions.ts",
    ],
    [
      "upstream/legacy/connection.ts",
      "upstream/legacy/server-notifications.ts",
      "upstream/leases/upstream-events.ts",
      // What the one watch of the server calls, which ends with the catalog.
      "catalog/merged-catalog.ts",
      "catalog/change-bus.ts",
      "downstream/legacy/subscriptions.ts",
    ],
  ]);
});
