/**
 * The fuzzers of `npm run fuzz`, for a moment: every case of the corpus, and some cases of chance of a seed that is told.
 */
import { describe, expect, test } from "vitest";
import { readCorpus } from "./corpus.ts";
import { bySeed, Difference } from "./target.ts";
import { loadTarget, targetNames } from "./targets/index.ts";

const seconds = 0.5;
const seed = 20_261_125;

describe.each(targetNames)("%s", (name) => {
  test.each(readCorpus(name))("has no difference any more in $path", async ({ saved }) => {
    await (await loadTarget(name)).replay(saved);
  });

  test(`has no difference in cases of chance, from seed ${seed} on`, async () => {
    let cases = 0;
    await (await loadTarget(name)).fuzz({ seconds, seed, onCase: () => cases++ });
    expect(cases).toBeGreaterThan(0);
  });

  test("makes the same cases of the same seed", async () => {
    const target = await loadTarget(name);
    const made = async () => {
      const told: string[] = [];
      await target.fuzz({ seconds: 1, seed, cases: 5, onCase: (words) => void told.push(words) });
      return told;
    };
    const [one, other] = [await made(), await made()];
    const both = Math.min(one.length, other.length);
    expect(both).toBeGreaterThan(0);
    expect(one.slice(0, both)).toEqual(other.slice(0, both));
  });
});

describe("a fuzzer that names its seeds", () => {
  test("tells a difference by the seed of its case", async () => {
    const target = bySeed(async ({ seed: first }) => {
      throw new Error(`seed ${first + 7}: a case`);
    });
    const difference = await target.fuzz({ seconds: 1, seed: 3 }).catch((error) => error);
    expect(difference).toBeInstanceOf(Difference);
    expect(difference.saved).toEqual({ seed: 10 });
  });
});
