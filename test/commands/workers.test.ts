/** How many workers are asked for, what each may take, and when one that ended is started again. */
import { describe, expect, test } from "vitest";
import { createPauses } from "../../src/commands/workers/primary/pauses.ts";
import { createPings } from "../../src/commands/workers/primary/pings.ts";
import { shareOf } from "../../src/commands/workers/share.ts";
import { loadConfig } from "../../src/config/config.ts";
import { startCommands } from "../support/command.ts";

test.each(["0", "257", "two", "-1", "1.5", ""])("`--workers %s` is refused, with what is expected", async (workers) => {
  const commands = startCommands();
  try {
    const { code, stderr } = await commands.run(["serve", `--workers=${workers}`], {});
    expect(stderr).toContain("--workers: expected auto, or a number from 1 to 256");
    expect(code).toBe(2);
  } finally {
    await commands.close();
  }
});

test("WORKERS says how many, and a wrong one is refused", () => {
  expect(loadConfig(undefined, {}).workers).toBeUndefined();
  expect(loadConfig(undefined, { WORKERS: "auto" }).workers).toBe("auto");
  expect(loadConfig(undefined, { WORKERS: "4" }).workers).toBe(4);
  expect(() => loadConfig(undefined, { WORKERS: "many" })).toThrow("WORKERS: expected auto");
});

test("a worker that ends is started again at once, and later and later where it keeps ending", () => {
  const pause = createPauses();
  expect([1_000, 1_000, 1_000, 1_000].map(pause)).toEqual([0, 500, 1_000, 2_000]);
  for (let i = 0; i < 20; i++) pause(1_000);
  expect(pause(1_000)).toBe(30_000);
  expect(pause(60_000)).toBe(0);
});

test("a process that misses many questions in a row does not answer any more, and one that answers again does", async () => {
  let isDeaf = true;
  const answers = createPings(() => (isDeaf ? new Promise(() => {}) : Promise.resolve()));
  expect(Array.from({ length: 7 }, answers)).toEqual([true, true, true, true, true, true, false]);
  isDeaf = false;
  answers();
  await Promise.resolve();
  expect(answers()).toBe(true);
});

describe("each of several workers", () => {
  test("may take its part of what is of the whole gateway, and all of what is of an account", () => {
    const config = { ...loadConfig(undefined, {}), maxConnections: 1000 };
    const part = shareOf(config, 4);
    expect(part.maxConnections).toBe(250);
    expect(part.bodiesInFlight.maxBytes).toBe(config.bodiesInFlight.maxBytes / 4);
    expect(part.bodiesInFlight.maxBytesPerAccount).toBe(config.bodiesInFlight.maxBytesPerAccount);
    expect(part.backgroundResponses.max).toBe(config.backgroundResponses.max / 4);
    expect(part.backgroundResponses.maxPerAccount).toBe(config.backgroundResponses.maxPerAccount);
  });

  test("can hold one body of the largest size, however many there are", () => {
    const config = loadConfig(undefined, {});
    expect(shareOf(config, 256).bodiesInFlight.maxBytes).toBe(config.maxBodyBytes);
  });
});
