import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    // Real sockets on a machine that does other things too.
    testTimeout: 20_000,
    hookTimeout: 20_000,
  },
});
