/** The contract of the books, as tests. Postgres runs them, on a server and in the process; SQLite has tests of its own in `test/ledger`. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Books, holdMs } from "../../../src/storage/money/books.ts";
import { leaseFor } from "../../../src/storage/money/lease-size.ts";
import {
  type BooksStage,
  begun,
  callOf,
  capture,
  decide,
  ended,
  hold,
  holdOf,
  leaseOfAccount,
  leaseOfKey,
  now,
  recordsOf,
} from "../../support/storage/books-stage.ts";

export function booksContract(open: () => Promise<BooksStage>): void {
  let t: BooksStage;
  let books: Books;

  beforeEach(async () => {
    t = await open();
  });

  afterEach(async () => {
    expect(await t.faults()).toEqual([]);
    await t.close();
  });

  /** Opens books on an account with so much, and a key with a limit or none. */
  async function have(balance: number, limit?: number, isPostpaid = false): Promise<Books> {
    await t.addAccount("acc_1", { balance, isPostpaid });
    await t.addKey("key_1", "acc_1", limit);
    books = await t.open("nod_a");
    return books;
  }

  /** Lets a node's deadlines pass, while another lives. */
  async function lapse(survivor: Books): Promise<void> {
    for (let ms = 0; ms <= holdMs; ms += 20_000) {
      await t.pass(20_000);
      await survivor.renew();
    }
  }

  describe("a hold", () => {
    test("takes what is wanted while the balance covers it, and is refused with what is left", async () => {
      await have(100);
      expect(await hold(books, holdOf("req_1", 60), holdOf("req_2", 60))).toEqual([60, "short of balance: 40"]);
      expect(await t.account("acc_1")).toEqual({ balance: 100, held: 60 });
      expect(await t.key("key_1")).toEqual({ spent: 0, held: 60 });
    });

    test("names the key's limit where that falls short, and leaves the account untouched", async () => {
      await have(1000, 50);
      expect(await hold(books, holdOf("req_1", 60))).toEqual(["short of limit: 50"]);
      expect(await t.account("acc_1")).toEqual({ balance: 1000, held: 0 });
    });

    test("is content with what there is, if that is enough", async () => {
      await have(100, 80);
      const wants = [holdOf("req_1", 500, { min: 20 }), holdOf("req_2", 500, { min: 20 })];
      expect(await hold(books, ...wants)).toEqual([80, "short of limit: 0"]);
    });

    test("goes below zero for an account that is billed afterwards, and not beyond its key's limit", async () => {
      await have(0, 100, true);
      expect(await hold(books, holdOf("req_1", 70), holdOf("req_2", 70))).toEqual([70, "short of limit: 30"]);
      expect(await capture(books, callOf("req_1", 70))).toEqual([70, 0]);
      expect(await t.account("acc_1")).toEqual({ balance: -70, held: 0 });
    });

    test("is refused to a key that is revoked, or that there is not", async () => {
      await have(1e9);
      await t.revoke("key_1");
      const [revoked, none] = await hold(books, holdOf("req_1", 5), holdOf("req_2", 5, { keyId: "key_none" }));
      expect([revoked, none]).toEqual(["short of key: 0", "short of key: 0"]);
      expect(await t.holds()).toEqual([]);
    });

    test("counts once for a call that asks again", async () => {
      await have(100);
      await hold(books, holdOf("req_1", 60));
      expect(await hold(books, holdOf("req_1", 60))).toEqual([60]);
      expect(await t.account("acc_1")).toEqual({ balance: 100, held: 60 });
    });

    test("ends without a charge, and may be taken anew", async () => {
      await have(100);
      await hold(books, holdOf("req_1", 60));
      const { holds } = await decide(books, { releases: ["req_1"], holds: [holdOf("req_1", 100)] });
      expect(holds).toEqual([{ kind: "decided", value: { kind: "held", amount: 100 } }]);
    });
  });

  describe("a capture", () => {
    test("charges what was used, and gives back the rest", async () => {
      await have(100);
      await hold(books, holdOf("req_1", 60));
      expect(await capture(books, callOf("req_1", 25), 60)).toEqual([25, 0]);
      expect(await t.account("acc_1")).toEqual({ balance: 75, held: 0 });
      expect(await t.key("key_1")).toEqual({ spent: 25, held: 0 });
      expect(await t.call("req_1")).toMatchObject({ cost: 25, waived: 0, output: 4, created_at: now });
    });

    test("is charged once, however often it is asked for", async () => {
      await have(100);
      await hold(books, holdOf("req_1", 60));
      await capture(books, callOf("req_1", 25));
      expect(await capture(books, callOf("req_1", 30))).toBeUndefined();
      expect(await t.account("acc_1")).toEqual({ balance: 75, held: 0 });
    });

    test("costs no more than it may, and no more than is there: the rest is waived", async () => {
      await have(100);
      await hold(books, holdOf("req_1", 60), holdOf("req_2", 10));
      expect(await capture(books, callOf("req_1", 80), 60)).toEqual([60, 20]);
      expect(await capture(books, callOf("req_2", 50))).toEqual([40, 10]);
      expect(await t.account("acc_1")).toEqual({ balance: 0, held: 0 });
      expect(await t.call("req_2")).toMatchObject({ cost: 40, waived: 10 });
    });

    test("makes room for what is held in the same turn", async () => {
      await have(100);
      await hold(books, holdOf("req_1", 100));
      const turn = {
        captures: [{ call: callOf("req_1", 30), most: 100 }],
        holds: [holdOf("req_2", 70), holdOf("req_3", 1)],
      };
      const { captures, holds } = await decide(books, turn);
      expect(captures).toEqual([{ kind: "decided", value: { cost: 30, waived: 0 } }]);
      expect(holds.map((one) => one.kind === "decided" && one.value.kind)).toEqual(["held", "short"]);
    });

    test("whose values cannot be written fails alone", async () => {
      await have(1000);
      const bad = callOf("req_1", 10, { model: "m\u0000" });
      const turn = {
        captures: [bad, callOf("req_2", 20)].map((call) => ({ call, most: 20 })),
        holds: [holdOf("req_3", 5)],
      };
      const { captures, holds } = await decide(books, turn);
      expect([...captures, ...holds].map(({ kind }) => kind)).toEqual(["failed", "decided", "decided"]);
      expect(await t.account("acc_1")).toEqual({ balance: 980, held: 5 });
    });
  });

  describe("a lease", () => {
    const ofAccount = { lease: { id: "nod_a acc_1", isOfKey: false } };
    const ofKey = { lease: { id: "nod_a key_1", isOfKey: true } };

    test("grows where credit is ample, and covers the calls that come with it", async () => {
      await have(1e9);
      const grown = leaseFor(100, 1e9);
      expect(await hold(books, holdOf("req_1", 100, ofAccount), holdOf("req_2", 100, ofAccount))).toEqual([
        `leased ${grown}`,
        "leased 0",
      ]);
      expect(await t.holds()).toEqual([{ id: "nod_a acc_1", amount: grown }]);
      expect(await t.account("acc_1")).toEqual({ balance: 1e9, held: grown });
      expect(await t.key("key_1")).toEqual({ spent: 0, held: 0 });
    });

    test.each([1, 99, 1000, 12_345, 6_250_000])("of a call for %d is as large as the policy says", async (max) => {
      await have(1e9);
      const grown = leaseFor(max, 1e9);
      expect(await hold(books, holdOf("req_1", max, ofAccount))).toEqual([grown > 0 ? `leased ${grown}` : max]);
    });

    test("of a key's limit is a part of what the key holds", async () => {
      await have(1e9, 1e6);
      const grown = leaseFor(100, 1e6);
      expect(await hold(books, holdOf("req_1", 100, ofKey))).toEqual([`leased ${grown}`]);
      expect(await t.key("key_1")).toEqual({ spent: 0, held: grown });
    });

    test("of the account is not for a key with a limit, nor for one that is revoked", async () => {
      await have(1e9, 1e6);
      expect(await hold(books, holdOf("req_1", 100, ofAccount))).toEqual([100]);
      await t.revoke("key_1");
      expect(await hold(books, holdOf("req_2", 100, ofKey))).toEqual([expect.stringMatching(/^short/)]);
    });

    test("is none of a node whose deadline has passed: nobody would ask it back", async () => {
      await have(1e9);
      await t.pass(90_000);
      const wanted = (id: string) => hold(books, holdOf(id, 10, ofAccount));
      expect(await wanted("req_1")).toEqual([10]);
      await books.renew();
      expect(await wanted("req_2")).toEqual([expect.stringMatching(/^leased/)]);
    });

    test("gives back what it has left, once", async () => {
      await have(1e9);
      await hold(books, holdOf("req_1", 100, ofAccount));
      await books.releaseLeases(["nod_a acc_1"]);
      await books.releaseLeases(["nod_a acc_1"]);
      expect(await t.account("acc_1")).toEqual({ balance: 1e9, held: 0 });
    });
  });

  for (const [whose, taken, limit] of [
    ["the account's lease", leaseOfAccount("nod_a"), undefined],
    ["the key's lease", leaseOfKey("nod_a"), 1e8],
  ] as const) {
    describe(`what is written of calls that draw on ${whose}`, () => {
      const { leaseId: id, isOfKey } = taken;
      let size: number;

      beforeEach(async () => {
        await have(1e9, limit);
        const [told] = await hold(books, holdOf("req_0", 100, { lease: { id, isOfKey } }));
        size = Number(String(told).replace("leased ", ""));
      });

      const lease = async () => (await t.holds()).find((one) => one.id === id)?.amount;

      test("takes a cost from the lease where its hold came in the same record, or in one that waits with it", async () => {
        const write = recordsOf(books);
        await Promise.all([
          write(begun("req_1", 100, taken), ended(callOf("req_1", 30), taken)),
          write(begun("req_2", 100, taken)),
          write(ended(callOf("req_2", 12), taken)),
        ]);
        expect(await lease()).toBe(size - 42);
        expect(await t.account("acc_1")).toEqual({ balance: 1e9 - 42, held: size - 42 });
        expect(await t.key("key_1")).toEqual({ spent: 42, held: isOfKey ? size - 42 : 0 });
        expect(await t.call("req_2")).toMatchObject({ cost: 12, waived: 0 });
      });

      test("gives a call that still runs a hold of its own, whose rest goes back to the lease", async () => {
        const write = recordsOf(books);
        await write(begun("req_1", 100, taken));
        expect(await t.holds()).toEqual(
          [
            { id, amount: size - 100 },
            { id: "req_1", amount: 100 },
          ].sort((a, b) => (a.id < b.id ? -1 : 1)),
        );
        expect(await t.key("key_1")).toEqual({ spent: 0, held: isOfKey ? size : 100 });
        await write(ended(callOf("req_1", 30), taken));
        expect(await lease()).toBe(size - 30);
        expect(await t.account("acc_1")).toEqual({ balance: 1e9 - 30, held: size - 30 });
      });

      test("gives that rest to the account where the lease is gone", async () => {
        const write = recordsOf(books);
        await write(begun("req_1", 100, taken));
        await books.releaseLeases([id]);
        await write(ended(callOf("req_1", 30), taken));
        expect(await t.account("acc_1")).toEqual({ balance: 1e9 - 30, held: 0 });
        expect(await t.key("key_1")).toEqual({ spent: 30, held: 0 });
      });

      test("releases a hold to the lease, to the account, or not at all where it never had a row", async () => {
        const write = recordsOf(books);
        await write(begun("req_1", 100, taken), begun("req_2", 50, taken));
        await write({ kind: "free", requestId: "req_1", taken }, begun("req_3", 10, taken), {
          kind: "free",
          requestId: "req_3",
          taken,
        });
        expect(await lease()).toBe(size - 50);
        await books.releaseLeases([id]);
        await write({ kind: "free", requestId: "req_2", taken });
        expect(await t.holds()).toEqual([]);
        expect(await t.account("acc_1")).toEqual({ balance: 1e9, held: 0 });
      });

      test("counts once, however often a record is written", async () => {
        const record = { seq: 1, at: now, entries: [begun("req_1", 100, taken), ended(callOf("req_1", 30), taken)] };
        await books.write(record);
        await books.write(record);
        expect(await t.account("acc_1")).toEqual({ balance: 1e9 - 30, held: size - 30 });
      });

      test("comes before the turn that brings it along, whose leases are released", async () => {
        const records = [{ seq: 1, at: now, entries: [begun("req_1", 100, taken), ended(callOf("req_1", 30), taken)] }];
        const { holds } = await decide(books, { records, leases: [id], holds: [holdOf("req_2", 1000, { min: 1e3 })] });
        expect(holds).toEqual([{ kind: "decided", value: { kind: "held", amount: 1000 } }]);
        await books.write(records[0] as (typeof records)[0]);
        expect(await t.account("acc_1")).toEqual({ balance: 1e9 - 30, held: 1000 });
      });

      test("sets aside a call that cannot be written, and writes the others", async () => {
        const write = recordsOf(books);
        const bad = ended(callOf("req_1", 30, { model: "m\u0000" }), taken);
        await write(begun("req_1", 100, taken), bad, begun("req_2", 100, taken), ended(callOf("req_2", 20), taken));
        expect(await t.call("req_2")).toMatchObject({ cost: 20 });
        expect(
          (await t.aside()).map((body) => (JSON.parse(body) as { kind: string }[]).map(({ kind }) => kind)),
        ).toEqual([["hold", "settle"]]);
        expect(await t.account("acc_1")).toEqual({ balance: 1e9 - 20, held: size - 20 });
      });

      test("charges a call that is known already nothing, and gives back what it held", async () => {
        await capture(books, callOf("req_1", 10));
        await recordsOf(books)(begun("req_1", 100, taken), ended(callOf("req_1", 30), taken));
        expect(await t.account("acc_1")).toMatchObject({ balance: 1e9 - 10 });
        expect(await t.call("req_1")).toMatchObject({ cost: 10 });
      });
    });
  }

  describe("a node that died", () => {
    test("loses its leases and holds when their deadline has passed, and its calls are recorded as lost", async () => {
      await have(1e9);
      const taken = leaseOfAccount("nod_a");
      await hold(books, holdOf("req_0", 100, { lease: { id: taken.leaseId, isOfKey: false } }));
      await recordsOf(books)(begun("req_1", 100, taken));
      const other = await t.open("nod_b");
      expect(await other.expire()).toBe(0);
      await lapse(other);
      await hold(other, holdOf("req_2", 7));
      while ((await other.expire()) > 0);
      expect(await t.holds()).toEqual([{ id: "req_2", amount: 7 }]);
      expect(await t.call("req_1")).toMatchObject({ outcome: 5, cost: 0 });
      expect(await t.account("acc_1")).toEqual({ balance: 1e9, held: 7 });
    });

    test("keeps what it renews", async () => {
      await have(100);
      await hold(books, holdOf("req_1", 60));
      const other = await t.open("nod_b");
      for (let ms = 0; ms < 2 * holdMs; ms += 20_000) {
        await t.pass(20_000);
        await Promise.all([books.renew(), other.renew()]);
      }
      expect(await other.expire()).toBe(0);
      expect(await t.holds()).toEqual([{ id: "req_1", amount: 60 }]);
    });

    test("and wakes charges its calls by what is there, in place of the lost rows", async () => {
      await have(1000);
      const taken = leaseOfAccount("nod_a");
      await hold(books, holdOf("req_0", 1, { lease: { id: taken.leaseId, isOfKey: false } }));
      const write = recordsOf(books);
      await write(begun("req_1", 20, taken));
      const other = await t.open("nod_b");
      await lapse(other);
      while ((await other.expire()) > 0);
      expect(await t.call("req_1")).toMatchObject({ outcome: 5 });
      await hold(other, holdOf("req_9", 985));
      await write(ended(callOf("req_1", 20), taken), begun("req_2", 5, taken), ended(callOf("req_2", 5), taken));
      expect(await t.call("req_1")).toMatchObject({ outcome: 1, cost: 15, waived: 5 });
      expect(await t.call("req_2")).toMatchObject({ cost: 0, waived: 5 });
      expect(await t.account("acc_1")).toEqual({ balance: 985, held: 985 });
    });
  });

  test("a limit that a key is given counts what its calls have spent before, from the account's lease too", async () => {
    await have(1e9);
    const taken = leaseOfAccount("nod_a");
    await hold(books, holdOf("req_0", 100, { lease: { id: taken.leaseId, isOfKey: false } }));
    await recordsOf(books)(begun("req_1", 100, taken), ended(callOf("req_1", 90), taken), begun("req_2", 50, taken));
    await t.setLimit("key_1", 200);
    expect(await hold(books, holdOf("req_3", 61), holdOf("req_4", 60))).toEqual(["short of limit: 60", 60]);
  });
}
