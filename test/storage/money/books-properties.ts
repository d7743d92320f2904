/**
 * Money over random interleavings of all that moves it, by two nodes on one database: after every step no account is overdrawn, every
 * sum is what it should be, and each call was charged once, what its caller was told.
 */
import fc from "fast-check";
import { expect, test } from "vitest";
import { type Books, holdMs, type JournalRecord, whenKnown } from "../../../src/storage/money/books.ts";
import { type BooksStage, begun, callOf, decide, ended, holdOf, now } from "../../support/storage/books-stage.ts";

/** Call is one that holds something. */
interface Call {
  readonly id: string;
  readonly key: string;
  readonly amount: number;
  /** The lease that it drew on; undefined where the database gave it a hold of its own. */
  readonly lease: string | undefined;
}

/** Node is a node's own view, as a ledger has it. */
interface Node {
  readonly books: Books;
  readonly name: string;
  seq: number;
  last: JournalRecord | undefined;
  calls: Call[];
  /** What each of its leases has left, by the key that draws on it. */
  readonly leases: Map<string, { readonly id: string; left: number }>;
}

interface Stage {
  readonly t: BooksStage;
  readonly nodes: readonly [Node, Node];
  readonly told: Map<string, number>;
  count: number;
}

const limitedKey = "key_2";
const isOfKey = (key: string) => key === limitedKey;

type Step = (stage: Stage, node: Node, size: number) => Promise<void>;

async function write(node: Node, entries: JournalRecord["entries"]): Promise<void> {
  node.last = { seq: ++node.seq, at: now, entries };
  await node.books.write(node.last);
}

const takenBy = ({ lease, key }: Call) => (lease === undefined ? undefined : { leaseId: lease, isOfKey: isOfKey(key) });

/** Asks for a hold as a ledger does: of a lease where one is, or is to be. */
async function hold(stage: Stage, node: Node, key: string, max: number): Promise<void> {
  const id = `req_${String(++stage.count).padStart(6, "0")}`;
  const lease = node.leases.get(key);
  if (lease && lease.left >= max) {
    lease.left -= max;
    await write(node, [{ ...begun(id, max, { leaseId: lease.id, isOfKey: isOfKey(key) }), keyId: key }]);
    node.calls.push({ id, key, amount: max, lease: lease.id });
    return;
  }
  const name = lease?.id ?? `${node.name} ${key} ${stage.count}`;
  const wanted = holdOf(id, max, { keyId: key, min: Math.ceil(max / 2), lease: { id: name, isOfKey: isOfKey(key) } });
  const [decision] = (await decide(node.books, { holds: [wanted] })).holds;
  const one = decision && (await whenKnown(decision));
  if (one?.kind !== "decided") throw new Error("a hold failed");
  if (one.value.kind === "held") node.calls.push({ id, key, amount: one.value.amount, lease: undefined });
  if (one.value.kind !== "leased") return;
  node.leases.set(key, { id: name, left: (lease?.left ?? 0) + one.value.grown - max });
  await write(node, [{ ...begun(id, max, { leaseId: name, isOfKey: isOfKey(key) }), keyId: key }]);
  node.calls.push({ id, key, amount: max, lease: name });
}

const steps: Readonly<Record<string, Step>> = {
  hold: (stage, node, size) => hold(stage, node, "key_1", 1 + size),
  "hold of a key with a limit": (stage, node, size) => hold(stage, node, limitedKey, 1 + size),
  "hold of nearly all": (stage, node, size) => hold(stage, node, "key_1", 40_000 + 100 * size),
  async "a short call"(stage, node, size) {
    const lease = node.leases.get("key_1");
    if (!lease || lease.left < size) return;
    const id = `req_${String(++stage.count).padStart(6, "0")}`;
    const taken = { leaseId: lease.id, isOfKey: false };
    lease.left -= size;
    await write(node, [{ ...begun(id, 2 * size, taken) }, ended(callOf(id, size), taken)]);
    stage.told.set(id, size);
  },
  async settle(stage, node, size) {
    const call = node.calls.shift();
    if (!call) return;
    const cost = Math.min(call.amount, size);
    await write(node, [ended(callOf(call.id, cost, { key_id: call.key }), takenBy(call))]);
    const lease = node.leases.get(call.key);
    if (lease && lease.id === call.lease) lease.left += call.amount - cost;
    stage.told.set(call.id, cost);
  },
  async "capture of more than was held"(stage, node, size) {
    const call = node.calls.pop();
    if (!call) return;
    const [one] = (
      await decide(node.books, {
        captures: [{ call: callOf(call.id, call.amount + size, { key_id: call.key }), most: call.amount + size }],
      })
    ).captures;
    if (one?.kind !== "decided") throw new Error("a capture failed");
    stage.told.set(call.id, one.value?.cost ?? Number.NaN);
  },
  async release(_, node) {
    const call = node.calls.shift();
    if (!call) return;
    if (call.lease === undefined) await decide(node.books, { releases: [call.id] });
    else await write(node, [{ kind: "free", requestId: call.id, taken: takenBy(call) }]);
    const lease = node.leases.get(call.key);
    if (lease && lease.id === call.lease) lease.left += call.amount;
  },
  async "give leases back"(_, node) {
    const ids = [...node.leases.values()].map(({ id }) => id);
    node.leases.clear();
    await node.books.releaseLeases(ids);
  },
  async "write the last record again"(_, node) {
    if (node.last) await node.books.write(node.last);
  },
  async merge(_, node) {
    await node.books.apply("acc_1");
  },
};

/** Stands still for so long that all it holds expires, and wakes. */
async function standStill(stage: Stage, node: Node): Promise<void> {
  const other = stage.nodes.find((one) => one !== node) as Node;
  for (let ms = 0; ms <= holdMs; ms += 20_000) {
    await stage.t.pass(20_000);
    await other.books.renew();
  }
  while ((await other.books.expire()) > 0);
  await node.books.renew();
  // What it was told to hold is gone: the ledger has the database decide on each of its calls from here on.
  node.leases.clear();
  for (const call of node.calls) {
    const [one] = (
      await decide(node.books, { captures: [{ call: callOf(call.id, 1, { key_id: call.key }), most: 1 }] })
    ).captures;
    if (one?.kind === "decided" && one.value) stage.told.set(call.id, one.value.cost);
  }
  node.calls = [];
}

const commands = fc.array(
  fc.record({
    step: fc.oneof(
      { arbitrary: fc.constantFrom(...Object.keys(steps)), weight: 30 },
      { arbitrary: fc.constant("stand still"), weight: 1 },
    ),
    node: fc.constantFrom(0 as const, 1 as const),
    size: fc.nat({ max: 400 }),
  }),
  { minLength: 10, maxLength: 40 },
);

export function booksProperties(open: () => Promise<BooksStage>, numRuns: number): void {
  test("whatever comes, in whatever order, no account is overdrawn, nothing is charged twice, and the sums hold", async () => {
    await fc.assert(
      fc.asyncProperty(commands, async (run) => {
        const t = await open();
        await t.addAccount("acc_1", { balance: 100_000 });
        await t.addKey("key_1", "acc_1");
        await t.addKey(limitedKey, "acc_1", 20_000);
        const node = async (name: string): Promise<Node> => {
          const made: Node = {
            name,
            // Idle leases go where another node is short.
            books: await t.open(name, () => {
              const leases = [...made.leases.values()].map(({ id }) => id);
              made.leases.clear();
              return { records: [], leases };
            }),
            ...{ seq: 0, last: undefined, calls: [], leases: new Map() },
          };
          return made;
        };
        const stage: Stage = { t, nodes: [await node("nod_a"), await node("nod_b")], told: new Map(), count: 0 };
        try {
          for (const { step, node: which, size } of run) {
            const actor = stage.nodes[which];
            if (step === "stand still") await standStill(stage, actor);
            else await (steps[step] as Step)(stage, actor, size);
            expect([step, await t.faults()]).toEqual([step, []]);
          }
          for (const [id, cost] of stage.told) expect([id, (await t.call(id))?.cost]).toEqual([id, cost]);
        } finally {
          await t.close();
        }
      }),
      { numRuns },
    );
  }, 120_000);
}
