/** Promises that are not awaited. */
import { expect, test } from "vitest";
import { inBackground } from "../../src/core/logger.js";

test("that fails is logged, with its name", async () => {
  const said: [object, string][] = [];
  const log = { error: (fields: object, sentence: string) => void said.push([fields, sentence]) };
  const error = new TypeError("a fault");
  inBackground(Promise.reject(error), log, "telling changes");
  inBackground(Promise.resolve(1), log, "something else");
  await new Promise(setImmediate);
  expect(said).toEqual([[{ error }, "telling changes failed: internal error"]]);
});
