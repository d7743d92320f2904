/** A write whose outcome is known as soon as it is begun, as of an owner that is gone, is over: the next one is a write of its own. */
import { expect, test, vi } from "vitest";
import { createGroupCommit, type GroupCommitOptions } from "../../src/ledger/group-commit.ts";
import { Deferred } from "../../src/runtime/maybe-promise.ts";
import type { Entry } from "../../src/storage/money/books.ts";

const entry = { kind: "free" } as Entry;

test("writes that fail or succeed at once are each written anew, and nothing recurs", async () => {
  const outcomes = ["rejected", "rejected", "resolved", "resolved"];
  const write = vi.fn(() => {
    const made = new Deferred<void>();
    if (outcomes.shift() === "rejected") made.reject(new Error("the owner is gone"));
    else made.resolve();
    return made;
  });
  const errors: unknown[] = [];
  const onError = (error: unknown) => void errors.push((error as Error).message);
  const options = { books: { write }, clock: Date.now, onError } as unknown as GroupCommitOptions;
  const commit = createGroupCommit(options);
  commit.add(entry);
  await commit.written();
  expect(errors).toEqual(["the owner is gone", "the owner is gone"]);
  expect(commit.unwritten()).toEqual([]);
  commit.add(entry);
  await commit.written();
  expect(write).toHaveBeenCalledTimes(4);
  expect([errors.length, commit.unwritten()]).toEqual([2, []]);
});
