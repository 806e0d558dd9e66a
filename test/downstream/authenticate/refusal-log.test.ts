/** Which refused credentials are logged, and how often. */
import { expect, test } from "vitest";
import { type Logger, SILENT } from "../../../src/core/logger.js";
import { RefusalLog } from "../../../src/downstream/authenticate/refusal-log.js";

function watched() {
  const lines: string[] = [];
  let now = 0;
  const logger: Logger = { ...SILENT, warn: (_, sentence) => void lines.push(sentence) };
  const log = new RefusalLog(logger, () => now);
  return {
    lines,
    refuse: (address: string | undefined, times = 1) => {
      for (let i = 0; i < times; i++) log.add("unknown_key", address, undefined);
    },
    log,
    pass: (ms: number) => {
      now += ms;
    },
  };
}

test("a key that is not known is warned of with its address, and repetitions are counted", () => {
  const { lines, refuse, pass } = watched();
  refuse("10.0.0.7", 100);
  refuse("10.0.0.8");
  pass(30_000);
  refuse("10.0.0.7");
  refuse(undefined);
  expect(lines).toEqual([
    "credentials refused (unknown_key) from 10.0.0.7",
    "credentials refused (unknown_key) from 10.0.0.8",
    "credentials refused (unknown_key) from 10.0.0.7; 99 more refused since the last such line",
    "credentials refused (unknown_key) from an unknown address",
  ]);
});

test("a flood from many addresses writes 20 lines in 30 s", () => {
  const { lines, refuse, pass } = watched();
  for (let i = 0; i < 5_000; i++) refuse(`10.0.${i >> 8}.${i & 255}`);
  expect(lines).toHaveLength(20);
  pass(30_000);
  refuse("10.1.0.0");
  expect(lines.at(-1)).toBe(
    "credentials refused (unknown_key) from 10.1.0.0; 4980 more refused since the last such line",
  );
});

test("a request without credentials is no attempt", () => {
  const { lines, log } = watched();
  log.add("missing", "10.0.0.7", undefined);
  expect(lines).toEqual([]);
});
