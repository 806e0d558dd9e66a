/** Servers that list more for hosts that can be asked: the lock has that, or the server counts as unread. */
import { expect, test } from "vitest";
import { isObject, type JsonObject } from "../../../src/wire/json.js";
import { drop, said, search, trusted } from "./support.js";

const ask: JsonObject = { name: "ask", description: "Asks the person.", inputSchema: { type: "object" } };
const WHOLE: JsonObject = { tools: [search, drop, ask] };
/** No list, so that the attempt fails. */
const BROKEN: JsonObject = { tools: "none" };

/** The row of the server in the page for `cardea lock`. */
async function rowOf(answers: () => JsonObject): Promise<JsonObject> {
  const { gateway } = await trusted(said({ forCapable: answers }));
  const page = (await gateway.page("trust", new URLSearchParams({ definitions: "true" }))) as JsonObject;
  const rows = Array.isArray(page.servers) ? page.servers.filter(isObject) : [];
  return rows.find(({ server }) => server === "shifty") ?? {};
}

test("what a server lists only for hosts that can be asked is there, although the first attempts failed", async () => {
  let attempts = 0;
  const row = await rowOf(() => {
    attempts += 1;
    return attempts < 3 ? BROKEN : WHOLE;
  });
  expect(row).toMatchObject({
    definitions: { tools: [{ name: "ask" }, { name: "drop" }, { name: "search" }] },
  });
});

test("a server that never lists for them is unread, so that no part of it is approved", async () => {
  const row = await rowOf(() => BROKEN);
  expect(row).toMatchObject({
    definitions: null,
    unread: expect.stringContaining("hosts that can be asked"),
  });
});
