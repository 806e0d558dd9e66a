/** What a terminal shows below the ready line. */
import { expect, test } from "vitest";
import { hintsOf } from "../../src/cli/ready-line.js";

test("the last line below the ready line says how a host gets the gateway", () => {
  const gateway = { url: "http://127.0.0.1:1/mcp", pid: 1 };
  const feature = { name: "one", readyHint: () => "of the feature" };
  const hints = hintsOf([{ ...feature, open: async () => undefined }], gateway);
  expect(hints).toEqual([
    "of the feature",
    expect.stringMatching(/^a host gets it with: .* install HOST, such as claude-code; others take the URL$/),
  ]);
});
