/** The format of journal lines, held by a line as the first version of the lists wrote it: files may be older than the process. */
import { expect, test } from "vitest";
import { lineOf, readLine } from "../../../../src/storage/journal/records.ts";

const shared = ["acc_1", "chat", "m", "u", '[{"upstream":"x"}]', 1, 0, 1, true, false, "nod_1 acc_1", false];
const own = ["req_1", "key_1", 20, 21, 22, 23, 24, 25, 26, 1_767_323_045_000, 27, null];
const line = { seq: 3, at: 1_767_323_045_678, settled: [[shared, own]] };

const call = {
  ...{ id: "req_1", account_id: "acc_1", key_id: "key_1", operation: "chat", model: "m", upstream: "u" },
  ...{ tried: '[{"upstream":"x"}]', outcome: 1, estimated: 0, cached: 1 },
  ...{ input: 20, cache_read: 21, cache_write: 22, output: 23, reasoning: 24, characters: 25, cost: 26 },
  ...{ created_at: 1_767_323_045_000, duration_ms: 27, first_byte_ms: null },
};
const taken = { leaseId: "nod_1 acc_1", isOfKey: false };

test("a line of the first version is read, each value as the column of its place", () => {
  const record = {
    seq: 3,
    at: 1_767_323_045_678,
    entries: [{ kind: "settle", isHeld: true, isLimited: false, taken }],
  };
  const read = readLine(JSON.stringify(line));
  expect(read).toMatchObject({ kind: "record", record });
  expect(read).toMatchObject({ record: { entries: [{ call }] } });
});

test("a line is written with the same values in the same places, and those of later columns behind them", () => {
  const entry = { kind: "settle", call, isHeld: true, isLimited: false, taken } as const;
  const written = JSON.parse(lineOf({ seq: 3, at: 1_767_323_045_678, entries: [entry] })) as typeof line;
  const [[keptShared, keptOwn] = []] = written.settled;
  expect({ ...written, settled: [[keptShared, keptOwn?.slice(0, own.length)]] }).toEqual(line);
});
