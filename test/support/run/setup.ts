/** Runs before every test file: one process runs many of them, and each begins as if it were alone. */
import { useBundledThreads } from "../../../src/package/package-files.ts";
import { forgetAll } from "../left-behind.ts";
import { tellCpu } from "./cpu.ts";

// Processes that tests start from source have the threads from source.
if (process.env.TEST_BUNDLE !== undefined) useBundledThreads(process.env.TEST_BUNDLE);
forgetAll();
tellCpu();
