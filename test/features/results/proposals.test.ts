/** Where results were large, and the config says nothing of budgets, one is proposed. */
import { expect } from "vitest";
import { testOf } from "../../support/features.js";
import { call, LARGE, opened } from "./support.js";

const proposals = testOf("admin", "token-counts");

async function savingsOf(adminUrl: string): Promise<readonly unknown[]> {
  const { savings } = (await (await fetch(`${adminUrl}/api/v1/tokens`)).json()) as {
    savings: { key: string }[];
  };
  return savings.filter(({ key }) => key.endsWith("results.maxTokens"));
}

proposals("for the servers that returned them, with the tokens that it would have saved", async () => {
  const running = await opened({});
  const host = await running.host({ era: "modern", door: "http" });
  for (const name of ["prose", "prose", "small", "image", "log"]) await call(host, `big__${name}`);
  expect(await savingsOf(running.adminUrl)).toEqual([
    {
      key: "mcpServers.big.results.maxTokens",
      value: 5_000,
      ...{ results: 3, of: "prose, log", tokens: expect.any(Number) },
    },
  ]);
});

proposals("not for what the config decides: a budget, or none", async () => {
  const running = await opened({}, { ...LARGE, entry: { results: { tools: { prose: "off", log: 500 } } } });
  const host = await running.host({ era: "modern", door: "http" });
  for (const name of ["prose", "log"]) await call(host, `big__${name}`);
  expect(await savingsOf(running.adminUrl)).toEqual([]);
});
