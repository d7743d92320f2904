/**
 * The fuzzer of request readers and checks finds no difference in about a second, and finds one where it is planted.
 */
import { describe, expect, test } from "vitest";
import { WireFault } from "../../../src/wire/fault.ts";
import { fuzzQuickCheck } from "../../fuzz/targets/quick-check.ts";
import { timed } from "../../support/run/running-time.ts";

describe("the fuzzer of readers and checks", () => {
  test("finds no difference", async () => {
    let cases = 0;
    await fuzzQuickCheck({ seconds: 20, seed: 30, cases: 1500, onCase: () => cases++ });
    expect(cases).toBeGreaterThan(50);
  });

  test("makes the same cases of the same seed", async () => {
    const told: string[][] = [[], []];
    for (const words of told) {
      await fuzzQuickCheck({ seconds: 20, seed: 7, cases: 50, onCase: (one) => words.push(one) });
    }
    expect(told[0]).toHaveLength(50);
    expect(told[0]).toEqual(told[1]);
  });

  test("ends on time", async () => {
    const [, { runningMs }] = await timed(() => fuzzQuickCheck({ seconds: 0.2, seed: 1 }));
    expect(runningMs).toBeLessThan(5000);
  });

  test("reports the seed and the case where a check accepts what the validator refuses", async () => {
    const fuzzing = fuzzQuickCheck({ seconds: 20, seed: 1, cases: 500, isSure: () => true });
    await expect(fuzzing).rejects.toThrow(/^seed \d+: \w+ \d+ bytes: it is sure of what is refused.*\nbase64/s);
  });

  test("reports the seed and the case where a reader accepts a duplicate member", async () => {
    // Text that is not JSON is refused as it should be, whichever case comes first.
    const read = (bytes: Buffer) => {
      try {
        return JSON.parse(bytes.toString());
      } catch {
        throw new WireFault("malformed", "no JSON");
      }
    };
    const fuzzing = fuzzQuickCheck({ seconds: 20, seed: 1, cases: 3000, read });
    await expect(fuzzing).rejects.toThrow(/^seed \d+: .*takes what the parser refuses, or has a member twice\nbase64/);
  });
});
