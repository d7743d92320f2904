/** What operators are told of batches: how many, of how much, and which were sent again. */
import { expect, test } from "vitest";
import { createLane } from "../../../../src/storage/engines/postgres/books/lane.ts";
import { createCounts } from "../../../../src/storage/engines/postgres/counts.ts";
import type { Session } from "../../../../src/storage/engines/postgres/session.ts";

const session: Session = { query: async () => [], listen: undefined, isOpen: () => true, close: () => {} };

test.each([
  ["a connection that broke", "ECONNRESET"],
  ["a conflict", "40P01"],
])("work that is done again after %s counts as repeated", async (_, code) => {
  const counts = createCounts();
  const lane = createLane({
    connect: async () => session,
    onError: () => {},
    onRepeat: counts.repeated,
    awayMs: 10_000,
    statementMs: 1000,
  });
  expect(await lane.run(async () => 1)).toBe(1);
  expect(counts.repeats()).toBe(0);
  let tries = 0;
  const work = async () => {
    if (++tries < 3) throw Object.assign(new Error("it failed"), { code });
    return tries;
  };
  expect(await lane.run(work)).toBe(3);
  expect(counts.repeats()).toBe(2);
  await expect(lane.run(() => Promise.reject(new RangeError("its values are wrong")))).rejects.toThrow(RangeError);
  expect(counts.repeats()).toBe(2);
  lane.close();
});

test("a batch counts once it is answered, with its items and its time", async () => {
  const counts = createCounts();
  const answer = Promise.withResolvers<string>();
  const sent = counts.batch("decide", 3, () => answer.promise);
  expect(counts.batches().decide.batches).toBe(0);
  answer.resolve("done");
  expect(await sent).toBe("done");
  await counts.batch("decide", 4, async () => {});
  await expect(counts.batch("write", 5, () => Promise.reject(new Error("it failed")))).rejects.toThrow("it failed");
  const { decide, write } = counts.batches();
  expect([decide.batches, decide.items, write.batches, write.items]).toEqual([2, 7, 0, 0]);
  expect(decide.seconds).toBeGreaterThan(0);
});
