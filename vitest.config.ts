import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";

/** Files that count what their process does: each has one of its own. All others share a process with those before. */
const alone = ["test/families/translate-by-template.test.ts"];

export default defineConfig({
  test: {
    // Real sockets and processes on a machine that does other things too: this bounds what hangs, and times nothing.
    testTimeout: 60_000,
    // More than there are cores: most files wait for processes and sockets half of their time.
    maxWorkers: Math.ceil(1.5 * availableParallelism()),
    hookTimeout: 60_000,
    setupFiles: ["test/support/setup.ts"],
    projects: [
      // The gateway's modules are loaded once a process, which was a tenth of the time.
      { extends: true, test: { name: "together", include: ["test/**/*.test.ts"], exclude: alone, isolate: false } },
      { extends: true, test: { name: "alone", include: alone } },
    ],
  },
});
