/** Tries that are repeated until one succeeds. */
import { expect, test } from "vitest";
import { retry } from "../../../src/runtime/time/retry.ts";

const pauses = { firstMs: 1, longestMs: 4 };

/** failing returns a function that fails so many times, and then tells how often it was called. */
function failing(times: number): () => Promise<number> {
  let calls = 0;
  return async () => {
    if (++calls <= times) throw new Error(`failure ${calls}`);
    return calls;
  };
}

test("resolves to what the first try that succeeds does, after pauses that double up to the longest", async () => {
  const failures: string[] = [];
  const done = retry(failing(4), pauses, ({ error, pauseMs }) => failures.push(`${error}, ${pauseMs} ms`));
  expect(await done).toBe(5);
  expect(failures).toEqual([
    "Error: failure 1, 1 ms",
    "Error: failure 2, 2 ms",
    "Error: failure 3, 4 ms",
    "Error: failure 4, 4 ms",
  ]);
});

test("pauses nowhere when the first try succeeds", async () => {
  const fail = () => expect.unreachable("nothing failed");
  expect(await retry(failing(0), pauses, fail)).toBe(1);
});

test("rejects with what its caller throws at a failure, and tries no more", async () => {
  const attempt = failing(9);
  const done = retry(attempt, pauses, ({ error }) => {
    if (String(error).endsWith("2")) throw new Error("enough", { cause: error });
  });
  await expect(done).rejects.toThrow("enough");
  await expect(attempt()).rejects.toThrow("failure 3");
});
