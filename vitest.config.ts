import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    // They only end what hangs: the machine may be slow, or busy with something else.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 30_000 } },
    maxWorkers: 2,
    coverage: { provider: "v8", include: ["src/**"], reporter: ["text-summary"] },
  },
});
