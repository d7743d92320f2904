/** The fuzzer of requests' readers and checks: it finds no difference in a second or so, and finds one where there is one. */
import { describe, expect, test } from "vitest";
import { WireFault } from "../../../src/wire/fault.ts";
import { fuzzQuickCheck } from "../../fuzz/targets/quick-check.ts";

describe("the fuzzer of readers and checks", () => {
  test("finds no difference", { timeout: 60_000 }, async () => {
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

  test("ends at its time", async () => {
    const begun = performance.now();
    await fuzzQuickCheck({ seconds: 0.2, seed: 1 });
    expect(performance.now() - begun).toBeLessThan(5000);
  });

  test("tells the seed and the case where a check is sure of what the validator refuses", async () => {
    const fuzzing = fuzzQuickCheck({ seconds: 20, seed: 1, cases: 500, isSure: () => true });
    await expect(fuzzing).rejects.toThrow(/^seed \d+: \w+ \d+ bytes: it is sure of what is refused.*\nbase64/s);
  });

  test("tells the seed and the case where a reader takes a member twice", async () => {
    // What is no JSON at all it refuses as it should, whichever case comes first.
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
