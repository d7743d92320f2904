/** Locks of nodes: what tells a process that has ended from one that lives, or that is about to take its lock. */
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { newId } from "../../../../src/runtime/ids.ts";
import { createNodeLocks } from "../../../../src/storage/engines/sqlite/node-lock.ts";
import { holdMs } from "../../../../src/storage/money/books.ts";
import { createProcesses } from "../../../../src/storage/processes.ts";
import type { Storage } from "../../../../src/storage/storage.ts";
import { createLeasingLedger } from "../../../support/accelerators.ts";
import { eventually } from "../../../support/eventually.ts";
import { ledgersOfTests, type TestLedger } from "../../../support/money/ledger.ts";

const ledgerOf = ledgersOfTests(createLeasingLedger);
const dayMs = 24 * 3_600_000;

let gateway: TestLedger;
let storage: Storage;
let folder: string;
let errors: unknown[];

const onError = (error: unknown) => void errors.push(error);

beforeEach(async () => {
  errors = [];
  gateway = await ledgerOf({ balance: 1000 });
  storage = gateway.storage;
  folder = `${gateway.database.path}.notes`;
  mkdirSync(folder, { recursive: true });
});

/** addLease adds what a node holds that has not reached its deadline. */
async function addLease(node: string): Promise<void> {
  const { database, now } = gateway;
  await database.exec(`INSERT INTO holds (request_id, node, account_id, key_id, operation, model, amount, created_at, expires_at)
    VALUES ('lease of ${node}', '${node}', 'acc_1', '', '', '', 7, 1, ${now() + holdMs})`);
  await database.exec("UPDATE accounts SET held = held + 7");
}

const leases = () => gateway.database.query("SELECT node FROM holds WHERE operation = ''");

/** show shows a process, as a gateway does that starts, and waits until it has looked for others. */
async function show(node: string): Promise<() => void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const { replays, backgroundResponses } = storage;
  const running = async (now: number) => {
    const nodes = await backgroundResponses.running(now);
    setImmediate(resolve);
    return nodes;
  };
  const stores = { replays, backgroundResponses: { endOf: backgroundResponses.endOf, running } };
  const end = createProcesses(folder, stores).showProcess({ node, clock: gateway.now, onError, post: async () => {} });
  await promise;
  return end;
}

describe("the lock of a process that has run for days, and was killed", () => {
  test("says that what it had leased is free at once, whoever has looked at it before", async () => {
    const killed = newId("nod", gateway.now() - 3 * dayMs);
    await addLease(killed);
    writeFileSync(join(folder, `${killed}.lock`), "");
    const end = await show(newId("nod", gateway.now()));
    await gateway.ledger.sweep();
    expect(await leases()).toEqual([]);
    end();
    expect(errors).toEqual([]);
  });

  test("goes where it had nothing under way", async () => {
    const killed = newId("nod", gateway.now() - 3 * dayMs);
    for (const ending of [".lock", ".calls"]) writeFileSync(join(folder, killed + ending), "");
    const end = await show(newId("nod", gateway.now()));
    await gateway.ledger.sweep();
    await eventually(() => expect(readdirSync(folder).filter((name) => name.startsWith(`${killed}.`))).toEqual([]));
    end();
  });
});

describe("a process", () => {
  const claimOf = (node: string, requestId: string) => {
    const [now, expiresAt] = [gateway.now(), gateway.now() + holdMs];
    return { accountId: "acc_1", keyHash: "k", requestHash: "r", requestId, node, now, expiresAt };
  };

  test("that has ended has its claims ended behind what it had journalled, and may live until that is posted", async () => {
    const [ended, starting] = [newId("nod", gateway.now()), newId("nod", gateway.now())];
    writeFileSync(join(folder, `${ended}.calls`), "");
    expect(await storage.replays.claim(claimOf(ended, "req_1"))).toEqual({ kind: "claimed" });
    const { showProcess, mayLive } = createProcesses(folder, storage);
    const posts: PromiseWithResolvers<void>[] = [];
    const post = () => {
      const next = Promise.withResolvers<void>();
      posts.push(next);
      return next.promise;
    };
    const end = showProcess({ node: starting, clock: gateway.now, onError, post });
    const failed = new Error("the disk is full");
    posts[0]?.reject(failed);
    await eventually(() => expect(posts).toHaveLength(2));
    expect(errors.splice(0)).toEqual([failed]);
    expect(await mayLive(ended)).toBe(true);
    expect(await storage.replays.claim(claimOf(starting, "req_2"))).toEqual({ kind: "running" });
    posts[1]?.resolve();
    await eventually(async () => expect(await storage.replays.running(gateway.now())).toEqual([]));
    expect(await storage.replays.claim(claimOf(starting, "req_2"))).toEqual({ kind: "claimed" });
    end();
    expect(errors).toEqual([]);
  });

  test("that is about to take its lock is not taken for one that has ended", async () => {
    const [starting, other] = [newId("nod", gateway.now()), newId("nod", gateway.now())];
    // It has made the file, and not locked it: in this moment another one starts, which comes to its changes late.
    writeFileSync(join(folder, `${starting}.calls`), "");
    const changes = Promise.withResolvers<void>();
    const ended: string[] = [];
    const { replays, backgroundResponses } = storage;
    const late = {
      running: replays.running,
      async endOf(nodes: readonly string[], now: number) {
        ended.push(...nodes);
        await changes.promise;
        await replays.endOf(nodes, now);
      },
    };
    const endOther = createProcesses(folder, { replays: late, backgroundResponses }).showProcess({
      ...{ node: other, clock: gateway.now, onError, post: async () => {} },
    });
    const end = await show(starting);
    expect(await storage.replays.claim(claimOf(starting, "req_1"))).toEqual({ kind: "claimed" });
    changes.resolve();
    await show(newId("nod", gateway.now()));
    expect(ended).toEqual([]);
    expect(await storage.replays.claim(claimOf(other, "req_2"))).toEqual({ kind: "running" });
    end();
    endOther();
    expect(errors).toEqual([]);
  });

  test("that was killed has its keys free once another starts, and its lock goes", async () => {
    const killed = newId("nod", gateway.now() - 3 * dayMs);
    const other = newId("nod", gateway.now());
    writeFileSync(join(folder, `${killed}.calls`), "");
    expect(await storage.replays.claim(claimOf(killed, "req_1"))).toEqual({ kind: "claimed" });
    expect(await storage.replays.claim(claimOf(other, "req_2"))).toEqual({ kind: "running" });
    const end = await show(other);
    await eventually(() => expect(existsSync(join(folder, `${killed}.calls`))).toBe(false));
    expect(await storage.replays.claim(claimOf(other, "req_2"))).toEqual({ kind: "claimed" });
    end();
  });
});

describe("a lock that cannot be read", () => {
  const unreadable = "This is no lock. ".repeat(100);

  test("says nothing of its node, is told of once, and keeps nobody from what others have left", async () => {
    await addLease("nod_odd");
    await addLease("nod_dead");
    writeFileSync(join(folder, "nod_odd.lock"), unreadable);
    writeFileSync(join(folder, "nod_dead.lock"), "");
    writeFileSync(join(folder, "nod_odd.calls"), unreadable);
    const end = await show(newId("nod", gateway.now()));
    for (let i = 0; i < 2; i++) await gateway.ledger.sweep();
    expect(await leases()).toEqual([{ node: "nod_odd" }]);
    expect(gateway.errors.splice(0).map(String)).toEqual([expect.stringContaining("nod_odd.lock cannot be read")]);
    expect(await storage.recall("acc_1")).toBe(false);
    await gateway.pass(holdMs);
    await gateway.ledger.sweep();
    expect(await leases()).toEqual([]);
    end();
  });

  test("is closed again", async () => {
    writeFileSync(join(folder, "nod_odd.lock"), unreadable);
    const locks = createNodeLocks(folder, onError);
    const opened = () => readdirSync("/proc/self/fd").length;
    const before = existsSync("/proc/self/fd") ? opened() : 0;
    for (let i = 0; i < 50; i++) expect(locks.takeEnded("nod_odd")).toBe("unknown");
    if (before > 0) expect(opened()).toBeLessThan(before + 25);
    expect(errors).toHaveLength(1);
  });
});
