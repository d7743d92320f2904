/**
 * Rates in a real Redis and a real Valkey: what lies there, and what happens when the server dies, hangs, forgets, or
 * comes back. Skipped by name where the program is not there; CI has both.
 */
import { createClient } from "@redis/client";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createLeasedLimiter, type LeasedLimiter } from "../../../src/limits/leased-limiter.ts";
import type { Rate } from "../../../src/limits/limiter.ts";
import { createRedisSlices, type RedisSlices, type RedisSlicesOptions } from "../../../src/limits/redis/slices.ts";
import { eventually } from "../../support/eventually.ts";
import { hasRedis, type RedisServer, redisKinds, startRedis } from "../../support/redis/server.ts";
import { timed } from "../../support/run/running-time.ts";

interface Node {
  readonly slices: RedisSlices;
  readonly limiter: LeasedLimiter;
  /** What was told of outages. */
  readonly told: string[];
  close(): Promise<void>;
}

async function openNode(server: RedisServer, more: Partial<RedisSlicesOptions> & { clock?: () => number } = {}) {
  const { clock, ...options } = more;
  const told: string[] = [];
  const slices = createRedisSlices({
    ...{
      url: server.url,
      prefix: "test:",
      node: crypto.randomUUID(),
      assumedNodes: 1,
      connectMs: 2_000,
      isCluster: false,
      timeoutMs: 100,
    },
    onAway: ({ cause, nodes }) => void told.push(`away: ${cause}, ${nodes}`),
    onBack: (_, nodes) => void told.push(`back, ${nodes}`),
    ...options,
  });
  await slices.firstTried;
  const limiter = createLeasedLimiter({ slices, ...(clock ? { clock } : {}) });
  const node: Node = {
    ...{ slices, limiter, told },
    async close() {
      limiter.close();
      await slices.close();
    },
  };
  return node;
}

const perHour = (capacity: number): Rate => ({ capacity, windowMs: 3_600_000 });

for (const kind of redisKinds) {
  describe.skipIf(!hasRedis[kind])(kind, () => {
    let server: RedisServer;
    let nodes: Node[];
    const open = async (more?: Parameters<typeof openNode>[1]) => {
      const node = await openNode(server, more);
      nodes.push(node);
      return node;
    };

    /** Looks at what the server holds. */
    async function ask<T>(...command: string[]): Promise<T> {
      const client = await createClient({ url: server.url }).connect();
      try {
        return await client.sendCommand<T>(command);
      } finally {
        client.destroy();
      }
    }

    beforeAll(async () => {
      server = await startRedis(kind);
    });
    afterAll(() => server.kill());
    beforeEach(() => {
      nodes = [];
    });
    afterEach(async () => {
      server.resume();
      await Promise.all(nodes.map((node) => node.close()));
      await server.restart();
    });

    test("a bucket is one key with the prefix, which goes when the bucket is full; a full one is none", async () => {
      const one = await open({ prefix: "fleet-1:" });
      await one.limiter.take("acc_1", perHour(60), 3);
      await one.limiter.take("acc_2", perHour(60), 0);
      expect((await ask<string[]>("KEYS", "*")).sort()).toEqual(["fleet-1:acc_1", "fleet-1:nodes"]);
      const ms = await ask<number>("PTTL", "fleet-1:acc_1");
      expect(ms).toBeGreaterThan(60_000);
      expect(ms).toBeLessThanOrEqual(180_000);
      expect(await ask<number>("PTTL", "fleet-1:nodes")).toBeGreaterThan(0);
      await one.limiter.draw("acc_1", perHour(60), -3);
      await eventually(async () => expect(await ask("EXISTS", "fleet-1:acc_1")).toBe(0));
    });

    test("a key that holds something else counts as none", async () => {
      await ask("SADD", "test:acc", "what another program wrote");
      const one = await open();
      expect((await one.limiter.take("acc", perHour(60), 20)).remaining).toBe(40);
      expect((await one.limiter.take("acc", perHour(60), 41)).allowed).toBe(false);
    });

    test("what was written by a clock that is ahead, as before the server's was set back, lasts no longer than what is written now", async () => {
      const ahead = Date.now() + 3_600_000;
      const rate = { capacity: 60_000, windowMs: 60_000 };
      await ask("SET", "test:acc", `0 ${ahead} ${rate.capacity} ${rate.windowMs}`, "PX", "7200000");
      await ask("ZADD", "test:nodes", String(ahead + 5_000), "a node that may live");
      await ask("HSET", "test:places:far", "a node that may live", `3 3 ${ahead} ${ahead + 5_000}`);
      const one = await open({ timeoutMs: 60_000 });
      // Themselves: a limiter decides alone while the server does not answer.
      const taken = { id: "acc", rate, least: 1, need: 1, spare: 0, drawn: 0 };
      await eventually(async () => expect(await one.slices.take([taken])).toMatchObject([{ units: 1 }]));
      const asked = { name: "far", places: 3, running: 0, wanted: 3 };
      // It may be using them.
      expect(await one.slices.places.ask(asked)).toMatchObject({ granted: 0 });
      await eventually(() => expect(one.slices.nodes()).toBe(1), 60_000);
      await eventually(
        async () => expect(await one.slices.places.ask(asked)).toEqual({ granted: 3, isShort: false }),
        60_000,
      );
    });

    test("knows how many nodes live, and of one that leaves", async () => {
      const [one, , last] = [await open(), await open(), await open()];
      await eventually(() => expect(one.slices.nodes()).toBe(3));
      await last.close();
      nodes.splice(2, 1);
      await eventually(() => expect(one.slices.nodes()).toBe(2));
    });

    test("buckets are full again when it forgets them, and its scripts are sent again", async () => {
      const one = await open();
      await one.limiter.take("acc", perHour(60), 60);
      expect((await one.limiter.take("acc", perHour(60), 1)).allowed).toBe(false);
      await ask("FLUSHALL");
      await ask("SCRIPT", "FLUSH");
      await eventually(async () => expect((await one.limiter.take("acc", perHour(60), 1)).remaining).toBe(59));
      expect(one.slices.isAway()).toBe(false);
    });

    test("when it is killed calls go on at the rate divided by the nodes that lived, and it comes back by itself", async () => {
      const [one, other] = [await open(), await open()];
      await eventually(() => expect([one.slices.nodes(), other.slices.nodes()]).toEqual([2, 2]));
      await server.kill();
      await eventually(() => expect([one.slices.isAway(), other.slices.isAway()]).toEqual([true, true]));
      const rate = perHour(200);
      const admitted = await Promise.all(
        [one, other].map(async ({ limiter }) => {
          const decisions = await Promise.all(Array.from({ length: 200 }, () => limiter.take("acc", rate, 1)));
          return decisions.filter(({ allowed }) => allowed).length;
        }),
      );
      expect(admitted).toEqual([100, 100]);
      await eventually(() => expect(one.told).toContain("away: nothing listens at that address, 2"));
      await server.restart();
      await eventually(() => expect([one.slices.isAway(), other.slices.isAway()]).toEqual([false, false]));
      expect(one.told.at(-1)).toMatch(/^back, [12]$/);
      // What both used meanwhile is told, and nothing is left.
      await eventually(async () => expect((await one.limiter.take("acc", rate, 0)).remaining).toBe(0));
    });

    test("when it hangs only the calls of that moment wait, and not beyond the time-out; then none", async () => {
      const one = await open();
      const rate = { capacity: 1_000_000, windowMs: 30 * 86_400_000 };
      server.pause();
      const takes = () => Array.from({ length: 50 }, () => one.limiter.take("acc", rate, 1));
      const [, { runningMs }] = await timed(() => Promise.all(takes()));
      expect(runningMs).toBeLessThan(1_000);
      expect(one.slices.isAway()).toBe(true);
      const decisions = Array.from({ length: 10_000 }, () => one.limiter.take("acc", rate, 1));
      expect(decisions.every((decision) => "allowed" in decision)).toBe(true);
      expect(one.slices.counts().timeouts).toBeGreaterThanOrEqual(1);
      await eventually(() => expect(one.told).toContain("away: it does not answer in time, 1"));
      server.resume();
      await eventually(() => expect(one.slices.isAway()).toBe(false));
      // What it granted too late came back, and what was used meanwhile was told.
      await eventually(async () => {
        const used = 1_000_000 - (await one.limiter.take("acc", rate, 0)).remaining;
        expect(used).toBeLessThanOrEqual(10_050);
        expect(used).toBeGreaterThan(10_000);
      });
    });

    test("what it granted too late is given back once it is there again", async () => {
      const node = await open({ timeoutMs: 50 });
      const ask = { id: "late", rate: perHour(100), least: 10, need: 10, spare: 0, drawn: 0 };
      const look = { ...ask, least: 0, need: 0 };
      await node.slices.take([look]);
      server.pause();
      await expect((async () => node.slices.take([ask]))()).rejects.toThrow();
      server.resume();
      await eventually(() => expect(node.slices.isAway()).toBe(false));
      // The first answer has the rest sent; the bucket refills by less than one in the time of this test.
      await eventually(async () => {
        const [slice] = await node.slices.take([look]);
        expect(Math.floor((slice?.parts ?? 0) / look.rate.windowMs)).toBe(100);
      });
    });

    test("a connection on which nothing comes any more is given up for another", async () => {
      const one = await open();
      server.pause();
      const before = one.slices.counts().failures + one.slices.counts().timeouts;
      await eventually(() => {
        const { failures, timeouts } = one.slices.counts();
        expect(failures + timeouts).toBeGreaterThan(before + 2);
      });
      server.resume();
      await eventually(() => expect(one.slices.isAway()).toBe(false));
    });

    test("a short outage is counted and not told of", async () => {
      const one = await open({ untoldMs: 60_000 });
      await ask("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
      await eventually(() => expect(one.slices.counts().failures).toBeGreaterThan(0));
      await eventually(() => expect(one.slices.isAway()).toBe(false));
      expect(one.told).toEqual([]);
    });

    test("one that is not there at the start is waited for no longer than it takes to know, and is found later", async () => {
      await server.kill();
      const one = await open({ assumedNodes: 4 });
      expect(one.slices.isAway()).toBe(true);
      expect(one.told).toEqual(["away: nothing listens at that address, 4"]);
      expect((await one.limiter.take("acc", perHour(60), 1)).remaining).toBe(14);
      await server.restart();
      await eventually(() => expect(one.slices.isAway()).toBe(false));
      expect(one.told.at(-1)).toBe("back, 1");
    });

    test("one whose memory is full is away, in so many words", async () => {
      const one = await open();
      await ask("CONFIG", "SET", "maxmemory-policy", "noeviction");
      await ask("CONFIG", "SET", "maxmemory", "1");
      await eventually(() => expect(one.told).toContain("away: its memory is full: raise maxmemory, 1"));
      expect((await one.limiter.take("acc", perHour(60), 1)).allowed).toBe(true);
      await ask("CONFIG", "SET", "maxmemory", "0");
      await eventually(() => expect(one.slices.isAway()).toBe(false));
    });
  });
}
