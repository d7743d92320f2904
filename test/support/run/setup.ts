/** Runs before every test file: one process runs many of them, and each begins as if it were alone. */
import { forgetAll } from "../left-behind.ts";
import { tellCpu } from "./cpu.ts";

forgetAll();
tellCpu();
