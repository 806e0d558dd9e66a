/** The matrix itself: nothing that the issue asks for is left out without a word. */
import { expect, test } from "vitest";
import { UPSTREAMS } from "../../support/scripted/upstreams.js";
import { HOSTS } from "../host.js";
import { ABSENT, isAbsent, SITUATIONS } from "./situations.js";

const WANTED = [
  ...["sampling", "sampling with tools", "form", "URL", "roots", "two at once", "three rounds", "declined"],
  ...["cancelled by host", "host gone", "upstream gone", "expired"],
  ...["replayed state", "stolen state", "tampered state"],
];

test("the table has a row for each situation", () => {
  expect(SITUATIONS.map(({ key }) => key)).toEqual(WANTED);
});

test("the table has five kinds of hosts and five kinds of servers", () => {
  const ways = (kinds: readonly { readonly key: string }[]) => kinds.map(({ key }) => key);
  const five = ["legacy-http", "legacy-stdio", "legacy-sse", "modern-http", "modern-stdio"];
  expect(ways(Object.values(HOSTS))).toEqual(five);
  expect(ways(UPSTREAMS)).toEqual(five);
});

test("each cell of the table has a test, or the reason why the pair cannot exist", () => {
  const cells = Object.values(HOSTS).flatMap((host) =>
    UPSTREAMS.flatMap(() => SITUATIONS.map((situation) => ({ host, situation }))),
  );
  const absent = cells.filter(({ host, situation }) => isAbsent(host, situation));
  expect([cells.length, absent.length]).toEqual([375, 45]);
  for (const { situation } of absent) {
    expect(situation.insteadForLegacyHosts).toBeDefined();
    expect(ABSENT.find(({ situation: key }) => key === situation.key)?.reason).not.toBe("");
  }
});
