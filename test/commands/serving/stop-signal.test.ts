/** A request to stop and its echoes: one Ctrl-C may arrive several times. */
import { deepStrictEqual } from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { afterEach, beforeEach, describe, test, vi } from "vitest";
import { createStopRequest } from "../../../src/commands/serving/stop-signal.ts";

describe("signals that ask to stop", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  /** said returns what signals bring that come after these pauses, in milliseconds. */
  function said(...pauses: number[]): string[] {
    const calls: string[] = [];
    const signal = createStopRequest(
      () => calls.push("first"),
      () => calls.push("again"),
    );
    signal();
    for (const pause of pauses) {
      vi.advanceTimersByTime(pause);
      signal();
    }
    return calls;
  }

  test.each([
    ["one alone", [], ["first"]],
    ["one with its echoes", [0, 1, 400], ["first"]],
    ["one that is given again and again", [100, 300, 200, 100], ["first", "again", "again"]],
    ["another after a pause", [600], ["first", "again"]],
    ["another after echoes and a pause", [300, 100, 600], ["first", "again"]],
  ])("%s", (_, pauses, expected) => deepStrictEqual(said(...pauses), expected));
});

test("a signal that waited while the event loop was busy is an echo", () => {
  const script = `
    import { createStopRequest } from ${JSON.stringify(join(import.meta.dirname, "../../../src/commands/serving/stop-signal.ts"))};
    const waiting = setInterval(() => {}, 1000);
    process.on("SIGINT", createStopRequest(
      () => {
        console.log("first");
        process.kill(process.pid, "SIGINT");
        for (const until = performance.now() + 700; performance.now() < until; );
        setTimeout(() => clearInterval(waiting), 50);
      },
      () => console.log("again"),
    ));
    process.kill(process.pid, "SIGINT");`;
  const { stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", script], {
    encoding: "utf8",
    timeout: 30_000,
  });
  deepStrictEqual([stdout, stderr], ["first\n", ""]);
});
