import { defineConfig } from "vitest/config";

/** The order of files and tests is that of this seed; without one it is as written. */
const order = process.env.CARDEA_ORDER;

export default defineConfig({
  test: {
    globalSetup: ["test/support/fresh-state.ts", "test/support/unpacked-browser.ts"],
    // These only end what hangs: the machine may be slow, or busy with something else.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    expect: { poll: { timeout: 60_000 } },
    maxWorkers: 2,
    sequence: order === undefined ? {} : { shuffle: { files: true, tests: true }, seed: Number(order) },
    projects: [
      { extends: true, test: { name: "all", include: ["test/**/*.test.ts"] } },
      {
        extends: true,
        test: {
          name: "through call_tool",
          include: [
            "test/policy/*.test.ts",
            "test/policy/limits/*.test.ts",
            "test/scenarios/questions/*.test.ts",
          ],
          env: { CARDEA_TEST_THROUGH: "call_tool" },
        },
      },
    ],
    coverage: { provider: "v8", include: ["src/**"], reporter: ["text-summary"] },
  },
});
