import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    // Real sockets and processes on a machine that does other things too: this bounds what hangs, and times nothing.
    testTimeout: 60_000,
    // As many as there are cores: most files wait for processes and sockets half of their time.
    maxWorkers: "100%",
    hookTimeout: 60_000,
  },
});
