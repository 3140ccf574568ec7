import { defineConfig } from "vitest/config";

// One browser and one server for all: files run one after the other, and nothing is in a hurry on a loaded machine.
export default defineConfig({
  test: {
    include: ["e2e/**/*.e2e.ts"],
    globalSetup: ["e2e/setup.ts"],
    fileParallelism: false,
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
});
