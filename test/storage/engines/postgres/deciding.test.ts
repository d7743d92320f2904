/** Turns whose answers were lost, or came too late: what the server made of them belongs to somebody, or is undone. */
import { expect, test } from "vitest";
import { createDecide } from "../../../../src/storage/engines/postgres/books/deciding.ts";
import { createLane } from "../../../../src/storage/engines/postgres/books/lane.ts";
import { createCounts } from "../../../../src/storage/engines/postgres/counts.ts";
import type { Row, Session } from "../../../../src/storage/engines/postgres/session.ts";
import type { Turn } from "../../../../src/storage/money/books.ts";
import { holdOf } from "../../../support/storage/books-stage.ts";

const failure = (code: string) => () => Promise.reject(Object.assign(new Error("it failed"), { code }));
const holds = (count: number) => async (): Promise<readonly Row[]> => [
  { told: JSON.stringify({ captures: [], holds: Array.from({ length: count }, () => ["held", 5]) }) },
];

/** More often than a second lets it be tried. */
const lost = () => Array.from({ length: 20 }, () => failure("ECONNRESET"));

/** A server that answers what is asked of it in this order. Returns what it was asked. */
function stage(answers: readonly (() => Promise<readonly Row[]>)[]) {
  const asked: string[] = [];
  const released: string[] = [];
  const told: unknown[] = [];
  const left = [...answers];
  const session: Session = {
    query(sql, [, number] = []) {
      asked.push(`${/decide|abandon/.exec(sql)} ${number}`);
      return (left.shift() ?? holds(1))();
    },
    listen: undefined,
    isOpen: () => true,
    close: () => {},
  };
  const lane = createLane({
    ...{ connect: async () => session, onError: () => {}, onRepeat: () => {} },
    ...{ awayMs: 1000, statementMs: 1000 },
  });
  const { decide, undoLost } = createDecide({
    ...{ lane, node: "nod_a", writeNow: async () => {}, recall: async () => {}, counts: createCounts() },
    releaseLater: (leases) => void released.push(...leases),
    onError: (error) => void told.push(error),
  });
  const turn: Turn = { records: [], leases: [], captures: [], releases: [], holds: [] };
  return { asked, released, told, lane, undoLost, decide: (of: Partial<Turn>) => decide(() => ({ ...turn, ...of })) };
}

test("a turn that is still under way when it is asked again, and finds its lock taken, is undone before the next", async () => {
  const { decide, asked, lane } = stage([failure("ECONNRESET"), failure("55P03"), async () => [{ told: true }]]);
  const { holds: told } = await decide({ holds: [holdOf("req_1", 5)] });
  expect(told).toMatchObject([{ kind: "failed", error: { name: "LockedError" } }]);
  await decide({ holds: [holdOf("req_2", 5)] });
  expect(asked).toEqual(["decide 1", "decide 1", "abandon 1", "decide 2"]);
  lane.close();
});

test("a turn that the server itself refused needs no undoing", async () => {
  const { decide, asked, lane } = stage([failure("55P03")]);
  await decide({ holds: [holdOf("req_1", 5)] });
  await decide({ holds: [holdOf("req_2", 5)] });
  expect(asked).toEqual(["decide 1", "decide 2"]);
  lane.close();
});

test("a part of a turn that was decided is told, though the connection is lost amid the others", async () => {
  const { decide, asked, lane } = stage([failure("55P03"), holds(1), ...lost()]);
  const two = [holdOf("req_1", 5), holdOf("req_2", 5, { accountId: "acc_2", keyId: "key_2" })];
  const { holds: told } = await decide({ holds: two });
  expect(told).toMatchObject([
    { kind: "decided", value: { kind: "held", amount: 5 } },
    { kind: "failed", error: { name: "AwayError" } },
  ]);
  const begun = asked.length;
  await decide({ holds: [holdOf("req_3", 5)] }).catch(() => {});
  expect(asked[begun]).toBe("abandon 3");
  lane.close();
});

test("a lost turn that the server refuses to undo is told of, and holds up no other", async () => {
  const { decide, asked, told, lane } = stage([...lost().slice(1), failure("ECONNRESET"), failure("22P02")]);
  await expect(decide({ holds: [holdOf("req_1", 5)] })).rejects.toThrow(/does not answer/);
  for (let i = 0; told.length === 0; i++) await decide({ holds: [holdOf(`req_2${i}`, 5)] }).catch(() => {});
  expect(told).toMatchObject([{ code: "22P02" }]);
  const begun = asked.length;
  await decide({ holds: [holdOf("req_3", 5)] });
  expect(asked.slice(begun)).toMatchObject([expect.stringMatching(/^decide/)]);
  lane.close();
});

test("leases that a turn was to give back are released later where it was lost", async () => {
  const { decide, released, lane } = stage(lost());
  await expect(decide({ leases: ["lea_1"], holds: [holdOf("req_1", 5)] })).rejects.toThrow(/does not answer/);
  expect(released).toEqual(["lea_1"]);
  lane.close();
});
