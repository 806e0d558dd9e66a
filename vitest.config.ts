import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    testTimeout: 20_000,
    hookTimeout: 30_000,
    maxWorkers: 2,
    coverage: { provider: "v8", include: ["src/**"], reporter: ["text-summary"] },
  },
});
