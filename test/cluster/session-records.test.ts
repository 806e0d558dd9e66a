/** Records of sessions: who takes one over whose replica is gone. */
import { expect, onTestFinished, test } from "vitest";
import { StoredSessions } from "../../src/cluster/session-records.js";
import { SILENT } from "../../src/core/logger.js";
import { memoryStore, SECRET } from "../support/replicas.js";

const ID = "one12-a session";
const ANN = { id: "ann", groups: [], claims: {} };
const STATE = {
  principal: ANN,
  endpoint: "/mcp",
  revision: "2025-11-25",
  capabilities: {},
  subscriptions: [],
};

test("of two replicas that take a session over at once one does, and the other does not take it for unknown", async () => {
  const store = memoryStore();
  const of = (own: string): StoredSessions => {
    const directory = { own, isRegistered: true, hasStalled: false, others: () => [] };
    const sessions = new StoredSessions({ store: store.view(), directory, secret: SECRET, logger: SILENT });
    onTestFinished(() => sessions.close());
    return sessions;
  };
  const [one, two, three] = [of("one12"), of("two34"), of("thr56")];
  one.write(ID, STATE);
  for (const each of [two, three]) each.orphaned(ID, "one12");
  const [first, second] = await Promise.allSettled([two, three].map((each) => each.adopt(ID, ANN, "/mcp")));
  expect(first).toMatchObject({ status: "fulfilled", value: { from: "one12", revision: "2025-11-25" } });
  expect(second).toMatchObject({
    status: "rejected",
    reason: { message: expect.stringContaining("another replica") },
  });
  // Late by a whole round trip, it is the same.
  await expect(three.adopt(ID, ANN, "/mcp")).rejects.toThrow(/another replica/);
  // Who it does not belong to learns nothing of it.
  expect(await three.adopt(ID, { ...ANN, id: "eve" }, "/mcp")).toBeUndefined();
});
