/** The V8 flags of a gateway. */
import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { V8_FLAGS } from "../../src/runtime/v8-flags.js";

test("V8 knows all flags, or it would warn at every start", () => {
  const { status, stderr } = spawnSync(process.execPath, [...V8_FLAGS, "-e", "0"], { encoding: "utf8" });
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
});
