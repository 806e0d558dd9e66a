import { expect, test } from "vitest";
import { DefinitionCosts } from "../../../src/features/token-counts/definition-cost.js";
import { catalogOf, tool } from "../../catalog/support.js";
import { fakeClient, fakeUpstream } from "../../support/fake-upstream.js";

async function listOf(tools: number) {
  const items = Array.from({ length: tools }, (_, at) =>
    tool(`t${at}`, { description: "Finds books. ".repeat(40) }),
  );
  const catalog = catalogOf([fakeUpstream("books", { lists: { tools: items } })]);
  await catalog.prepare(fakeClient());
  return catalog.view(fakeClient()).list("tools");
}

/** In how many turns of the event loop the costs of a list are estimated. */
async function turnsOf(costs: DefinitionCosts, list: Awaited<ReturnType<typeof listOf>>): Promise<number> {
  let turns = 0;
  let isOver = false;
  const count = (): void => {
    turns += 1;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  await costs.prepare(list);
  isOver = true;
  return turns;
}

test("calls are served while the costs of a large list are estimated, which is done once", async () => {
  const costs = new DefinitionCosts();
  const list = await listOf(600);
  expect(await turnsOf(costs, list)).toBeGreaterThan(8);
  expect(await turnsOf(costs, list)).toBe(0);
  const { tools, tokens = 0, bytes = 0 } = costs.byServer(list).get("books") ?? {};
  expect(tools).toBe(600);
  expect(tokens).toBeGreaterThan(600 * 120);
  expect(bytes).toBeGreaterThan(tokens * 3);
});
