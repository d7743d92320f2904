/** Places that several processes share: never more than there are, all of them where they are wanted, and a fair part for each. */
import fc from "fast-check";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { createMemoryPlaces } from "../../src/limits/place-shares.ts";
import { createPlaces, type PlaceKeeper, type Places } from "../../src/limits/places.ts";
import { eventually } from "../support/eventually.ts";
import { keepers as kinds } from "../support/limits/keepers.ts";
import { createRelay } from "../support/limits/relay.ts";
import { timed } from "../support/run/running-time.ts";

for (const kind of kinds) {
  describe.skipIf(!kind.isThere)(kind.name, () => {
    let keepers: readonly PlaceKeeper[];
    let nodes: Places[] = [];
    beforeAll(kind.start);
    afterAll(kind.stop);
    beforeEach(() => {
      nodes = [];
    });
    afterEach(async () => {
      for (const node of nodes) node.close();
      await kind.close();
    });

    async function open(count: number, places: number): Promise<Places[]> {
      keepers = (await kind.open(count)).map((one) => one.places);
      nodes = keepers.map((keeper) => createPlaces(keeper, "far", places));
      return nodes;
    }

    test("one process alone has all of them, and the next call waits for one to be free", async () => {
      const [one] = await open(1, 3);
      for (let i = 0; i < 3; i++) await one?.take();
      let isIn = false;
      const fourth = Promise.resolve(one?.take()).then(() => {
        isIn = true;
      });
      await new Promise((resolve) => setImmediate(resolve));
      expect(isIn).toBe(false);
      one?.release();
      await fourth;
    });

    test("where there are more, calls that wait go on, and where there are fewer none goes before enough are free", async () => {
      const [one, two] = (await open(2, 1)) as [Places, Places];
      const resize = (places: number) => {
        for (const node of nodes) node.resize(places);
      };
      let running = 0;
      const take = async (node: Places) => {
        await node.take();
        running++;
      };
      const give = (node: Places) => {
        running--;
        node.release();
      };
      const taking = [one, two, one].map(take);
      await eventually(() => expect(running).toBe(1));
      resize(3);
      await Promise.all(taking);
      resize(1);
      const waiting = take(two);
      give(one);
      give(one);
      await new Promise((resolve) => setTimeout(resolve, 100));
      expect(running, "the second one's own is all there is").toBe(1);
      give(two);
      await waiting;
    });

    test("three processes with many short calls never have more than there are, and all of them are used", async () => {
      const places = 6;
      await open(3, places);
      let [running, most, done] = [0, 0, 0];
      const used = nodes.map(() => 0);
      const caller = async (i: number) => {
        while (done < 1_000) {
          await nodes[i]?.take();
          most = Math.max(most, ++running);
          await new Promise((resolve) => setTimeout(resolve, 3));
          running--;
          done++;
          used[i] = (used[i] ?? 0) + 1;
          nodes[i]?.release();
        }
      };
      await Promise.all(nodes.flatMap((_, i) => Array.from({ length: 10 }, () => caller(i))));
      expect(most).toBe(places);
      for (const count of used) expect(count / done).toBeGreaterThan(0.2);
    });

    test("a single place goes round", async () => {
      await open(3, 1);
      const order: number[] = [];
      const caller = async (i: number) => {
        while (order.length < 200) {
          await nodes[i]?.take();
          order.push(i);
          await new Promise((resolve) => setTimeout(resolve, 5));
          nodes[i]?.release();
        }
      };
      await Promise.all(nodes.flatMap((_, i) => [caller(i), caller(i)]));
      for (const i of [0, 1, 2]) expect(order.filter((one) => one === i).length).toBeGreaterThanOrEqual(3);
    });

    test("who comes later gets an equal part as places become free", async () => {
      const [one, other] = await open(2, 4);
      for (let i = 0; i < 4; i++) await one?.take();
      const waiting = [other?.take(), other?.take(), one?.take(), one?.take()];
      let inOther = 0;
      for (const turn of waiting.slice(0, 2)) void Promise.resolve(turn).then(() => inOther++);
      for (const turn of waiting.slice(2)) void Promise.resolve(turn).catch(() => {});
      await new Promise((resolve) => setTimeout(resolve, 100));
      expect(inOther).toBe(0);
      one?.release();
      one?.release();
      await eventually(() => expect(inOther).toBe(2));
    });

    test("places that nobody uses are there for others soon", async () => {
      const [one, other] = await open(2, 4);
      for (let i = 0; i < 4; i++) await one?.take();
      for (let i = 0; i < 4; i++) one?.release();
      const [, { runningMs }] = await timed(async () => {
        for (let i = 0; i < 4; i++) await other?.take();
      });
      expect(runningMs).toBeLessThan(4_000);
    });

    test("the places of a process that died are there again after five seconds", async () => {
      const [one] = await open(2, 2);
      // It is told once of what the other has, and never again.
      await keepers[1]?.ask({ name: "far", places: 2, running: 2, wanted: 2 });
      const [, { ms, runningMs }] = await timed(async () => one?.take());
      expect(ms).toBeGreaterThan(4_000);
      expect(runningMs).toBeLessThan(8_000);
    });
  });
}

describe("a keeper that takes its time", () => {
  afterEach(() => void vi.useRealTimers());

  test("never has more run than there are, however asks and answers cross each other", async () => {
    vi.useFakeTimers();
    await fc.assert(
      fc.asyncProperty(fc.infiniteStream(fc.nat(999)), fc.integer({ min: 1, max: 7 }), async (numbers, places) => {
        const next = (below: number) => (numbers.next().value as number) % below;
        const pause = (below: number) => new Promise((resolve) => setTimeout(resolve, next(below)));
        const memory = createMemoryPlaces(
          () => performance.now(),
          () => 3,
        );
        const nodes = ["one", "two", "three"].map((name) => {
          const keeper = memory.of(name);
          // Asks of one process stay in their order, as on a connection.
          const ask: PlaceKeeper["ask"] = async (asked) => {
            await pause(12);
            const grant = await keeper.ask(asked);
            await pause(12);
            return grant;
          };
          return createPlaces({ ...keeper, ask }, "far", places);
        });
        let [running, most] = [0, 0];
        const call = async (node: Places) => {
          await pause(2_500);
          await node.take();
          most = Math.max(most, ++running);
          await pause(60);
          running--;
          node.release();
        };
        const calls = Array.from({ length: 90 }, (_, i) => call(nodes[i % 3] as Places));
        await vi.advanceTimersByTimeAsync(60_000);
        await Promise.all(calls);
        for (const node of nodes) node.close();
        await vi.advanceTimersByTimeAsync(30);
        expect(most).toBeLessThanOrEqual(places);
      }),
      { numRuns: 60 },
    );
  });
});

describe("while the keeper is away", () => {
  test("each process has its part, and one at least; when it is back it says what runs", async () => {
    const places = createMemoryPlaces(
      () => performance.now(),
      () => 3,
    );
    const keeper = places.of("one");
    let isAway = true;
    const asked: number[] = [];
    const away: PlaceKeeper = {
      ...keeper,
      isAway: () => isAway,
      ask(ask) {
        asked.push(ask.running);
        return keeper.ask(ask);
      },
    };
    const one = createPlaces(away, "far", 7);
    for (let i = 0; i < 2; i++) await one.take();
    const third = one.take();
    expect(asked).toEqual([]);
    isAway = false;
    await third;
    expect(asked[0]).toBe(2);
    one.close();
    isAway = true;
    const small = createPlaces(away, "near", 2);
    await small.take();
    small.close();
  });
});

describe("another keeper that takes the place of one", () => {
  test("is told at once what runs, so that it grants nobody the same places", async () => {
    const relay = createRelay();
    const [one, two, other] = [relay.of("one"), relay.of("two"), relay.of("other")];
    const [first, second] = [createPlaces(one, "far", 3), createPlaces(two, "far", 3)];
    for (const node of [first, first, second]) await node.take();
    relay.replace();
    const granted = async () => await other.ask({ name: "far", places: 3, running: 0, wanted: 3, isTrial: true });
    expect(await granted()).toMatchObject({ granted: 0 });
    for (const node of [first, second]) node.close();
    expect(await granted()).toMatchObject({ granted: 3 });
    relay.replace();
    expect(await granted(), "what is closed tells nothing more").toMatchObject({ granted: 3 });
  });

  test("is told by a process that waited for an answer of the one before", async () => {
    const relay = createRelay();
    const one = createPlaces(relay.of("one"), "far", 3);
    await one.take();
    relay.hold();
    const second = one.take();
    relay.replace();
    await second;
    const other = relay.of("other");
    expect(await other.ask({ name: "far", places: 3, running: 0, wanted: 3, isTrial: true })).toMatchObject({
      granted: 1,
    });
    one.close();
  });
});
