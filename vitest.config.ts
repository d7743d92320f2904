import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    // Real sockets on a machine that does other things too.
    testTimeout: 20_000,
    // As many as there are cores: most files wait for processes and sockets half of their time.
    maxWorkers: "100%",
    hookTimeout: 20_000,
  },
});
