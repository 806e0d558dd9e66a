/** Texts that are made to be expensive cost no more for each character than others. */
import { expect, test } from "vitest";
import { findingsIn } from "../../../src/features/scan/scan.js";

/** The number of steps of a scan, between which other work is done. */
function steps(description: string): number {
  const item = { name: "t", description };
  let count = 0;
  for (const scan = findingsIn([{ server: "s", kind: "tools", name: "t", item }]); !scan.next().done; )
    count += 1;
  return count;
}

test.each([
  "ignore previous ",
  "once a tool is ",
  "tool it not be called by ",
  "\n",
  " ",
  "<!--",
  "curl ",
  "send a@",
  "~/.ssh/",
  "[system ",
  "\u{E0041}",
])("256 KiB of %j is scanned in steps", (text) => {
  expect(steps(text.repeat(262_144 / text.length))).toBeGreaterThan(8);
});

test("a definition of very many or very deep members is scanned", () => {
  const properties = Object.fromEntries(
    Array.from({ length: 20_000 }, (_, at) => [`p${at}`, { type: "string" }]),
  );
  let deep: object = { description: "deep" };
  for (let at = 0; at < 5_000; at++) deep = { items: deep };
  const item = { name: "t", inputSchema: { properties, allOf: [deep] } };
  const scan = findingsIn([{ server: "s", kind: "tools", name: "t", item }]);
  let last = scan.next();
  while (last.done !== true) last = scan.next();
  expect(last.value).toEqual([]);
});
