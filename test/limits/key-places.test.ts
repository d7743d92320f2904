/** Places of keys: never more than a key may have, of one process or of several, and none that nobody uses is missed. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { createKeyPlaces, type KeyPlaces } from "../../src/limits/key-places.ts";
import { createMemoryPlaces } from "../../src/limits/place-shares.ts";
import type { PlaceKeeper, PlacesAsk } from "../../src/limits/places.ts";
import { eventually } from "../support/eventually.ts";
import { keepers } from "../support/limits/keepers.ts";
import { createRelay } from "../support/limits/relay.ts";
import { timed } from "../support/run/running-time.ts";

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

test("a process that shares its places with no other has exactly as many, at once, and each key its own", () => {
  const places = createKeyPlaces();
  const takes = Array.from({ length: 5 }, () => places.tryTake("key_a", 3));
  expect(takes).toEqual([true, true, true, false, false]);
  expect(places.tryTake("key_b", 1)).toBe(true);
  expect(places.taken()).toBe(4);
  places.release("key_a");
  expect(places.tryTake("key_a", 3)).toBe(true);
  // A limit that was lowered holds from the next call on; what runs goes on.
  expect(places.tryTake("key_a", 2)).toBe(false);
  for (let i = 0; i < 3; i++) places.release("key_a");
  places.release("key_b");
  expect(places.taken()).toBe(0);
  expect(places.tryTake("key_a", 1)).toBe(true);
});

for (const kind of keepers) {
  describe.skipIf(!kind.isThere)(`over ${kind.name}`, () => {
    let nodes: KeyPlaces[] = [];
    let asked: readonly PlaceKeeper[] = [];
    beforeAll(kind.start);
    afterAll(kind.stop);
    afterEach(async () => {
      for (const node of nodes) node.close();
      await kind.close();
    });

    async function open(count: number): Promise<readonly KeyPlaces[]> {
      asked = (await kind.open(count)).map((one) => one.places);
      nodes = asked.map((keeper) => createKeyPlaces({ keeper }));
      return nodes;
    }

    test("three processes never run more calls of a key than it may have, and use all of its places", async () => {
      const places = 4;
      await open(3);
      let [running, most, done, refused] = [0, 0, 0, 0];
      const ended = performance.now() + 1_000;
      const caller = async (node: KeyPlaces | undefined) => {
        while (performance.now() < ended) {
          if (await node?.tryTake("key_a", places)) {
            most = Math.max(most, ++running);
            await pause(3);
            running--;
            done++;
            node?.release("key_a");
          } else {
            refused++;
            await pause(1);
          }
        }
      };
      await Promise.all(nodes.flatMap((node) => Array.from({ length: 6 }, () => caller(node))));
      expect(most).toBe(places);
      expect(done).toBeGreaterThan(100);
      expect(refused).toBeGreaterThan(0);
      expect(nodes.map((node) => node.taken())).toEqual([0, 0, 0]);
    });

    test("a place that one process gives back is there for another at once, and a refusal keeps none", async () => {
      const [one, other] = (await open(2)) as [KeyPlaces, KeyPlaces];
      for (let i = 0; i < 2; i++) expect(await one.tryTake("key_a", 2)).toBe(true);
      expect(await other.tryTake("key_a", 2)).toBe(false);
      one.release("key_a");
      await eventually(async () => expect(await other.tryTake("key_a", 2)).toBe(true));
      other.release("key_a");
      await eventually(async () => expect(await one.tryTake("key_a", 2)).toBe(true));
      expect(await other.tryTake("key_a", 2)).toBe(false);
      for (let i = 0; i < 2; i++) one.release("key_a");
      // All of them, for who is alone now: the refused process wants none.
      await eventually(async () => {
        const took = [await other.tryTake("key_a", 2), await other.tryTake("key_a", 2)];
        for (const isTaken of took) if (isTaken) other.release("key_a");
        expect(took).toEqual([true, true]);
      });
      await eventually(() => expect(other.taken()).toBe(0));
    });

    test("calls that come together are decided together", async () => {
      const [one] = (await open(2)) as [KeyPlaces, KeyPlaces];
      const all = await Promise.all(Array.from({ length: 8 }, () => one.tryTake("key_a", 5)));
      expect(all.filter(Boolean)).toHaveLength(5);
      for (let i = 0; i < 5; i++) one.release("key_a");
    });

    test("the calls of a process that died count no longer than five seconds", async () => {
      const [one] = (await open(2)) as [KeyPlaces, KeyPlaces];
      await asked[1]?.ask({ name: "key:key_a", places: 1, running: 0, wanted: 1, isTrial: true });
      expect(await one.tryTake("key_a", 1)).toBe(false);
      const [, { runningMs }] = await timed(() =>
        eventually(async () => expect(await one.tryTake("key_a", 1)).toBe(true)),
      );
      expect(runningMs).toBeLessThan(9_000);
      one.release("key_a");
    });
  });
}

describe("a keeper", () => {
  test("that takes its time never has more run than there are, however asks and ends cross each other", async () => {
    const memory = createMemoryPlaces(
      () => performance.now(),
      () => 2,
    );
    let delay = 0;
    const slow = (node: string): PlaceKeeper => {
      const keeper = memory.of(node);
      return {
        ...keeper,
        async ask(ask: PlacesAsk) {
          delay = (delay * 7 + 3) % 11;
          await pause(delay);
          const grant = await keeper.ask(ask);
          delay = (delay * 5 + 1) % 7;
          await pause(delay);
          return grant;
        },
      };
    };
    const nodes = ["a", "b"].map((name) => createKeyPlaces({ keeper: slow(name) }));
    let [running, most] = [0, 0];
    const caller = async (node: KeyPlaces, i: number) => {
      for (let round = 0; round < 25; round++) {
        if (await node.tryTake("key_a", 3)) {
          most = Math.max(most, ++running);
          await pause((i * round) % 5);
          running--;
          node.release("key_a");
        } else await pause(2);
      }
    };
    await Promise.all(nodes.flatMap((node, n) => [0, 1, 2, 3].map((i) => caller(node, i + n))));
    expect(most).toBeLessThanOrEqual(3);
    expect(most).toBeGreaterThan(1);
    expect(nodes.map((node) => node.taken())).toEqual([0, 0]);
    for (const node of nodes) node.close();
  });

  test("that is away leaves each process its part, and one that does not answer does the same", async () => {
    let isAway = true;
    const failing: PlaceKeeper = {
      ask: () => Promise.reject(new Error("no answer")),
      isAway: () => isAway,
      nodes: () => 3,
      onReturn: () => () => {},
    };
    const places = createKeyPlaces({ keeper: failing });
    expect([1, 2, 3].map(() => places.tryTake("key_a", 6))).toEqual([true, true, false]);
    expect([1, 2].map(() => places.tryTake("key_b", 2))).toEqual([true, false]);
    isAway = false;
    for (let i = 0; i < 2; i++) places.release("key_a");
    expect(await Promise.all([1, 2, 3].map(() => places.tryTake("key_a", 6)))).toEqual([true, true, false]);
    for (const id of ["key_a", "key_a", "key_b"]) places.release(id);
    expect(places.taken()).toBe(0);
    places.close();
  });

  test("whose place another takes is told at once what runs, also by who waited for its answer", async () => {
    const relay = createRelay();
    const [one, two] = ["one", "two"].map((name) => createKeyPlaces({ keeper: relay.of(name) })) as [
      KeyPlaces,
      KeyPlaces,
    ];
    expect(await one.tryTake("key_a", 3)).toBe(true);
    expect(await one.tryTake("key_b", 1)).toBe(true);
    relay.hold();
    const second = one.tryTake("key_a", 3);
    relay.replace();
    // It decided by its part of the places, which are three of two processes.
    expect(await second).toBe(false);
    expect(await two.tryTake("key_b", 1)).toBe(false);
    expect(await Promise.all([1, 2, 3].map(() => two.tryTake("key_a", 3)))).toEqual([true, true, false]);
    for (const node of [one, two]) node.close();
  });

  test("that is away refuses all calls where the configuration wants that", async () => {
    const away: PlaceKeeper = {
      ...{ isAway: () => true, nodes: () => 1, onReturn: () => () => {} },
      ask: () => Promise.reject(new Error("away")),
    };
    const places = createKeyPlaces({ keeper: away, whenAway: () => new Error("not now") });
    expect(() => places.tryTake("key_a", 6)).toThrow("not now");
    const failing = createKeyPlaces({
      keeper: { ...away, isAway: () => false },
      whenAway: () => new Error("not now"),
    });
    await expect(Promise.resolve(failing.tryTake("key_a", 6))).rejects.toThrow("not now");
    expect([places.taken(), failing.taken()]).toEqual([0, 0]);
  });
});
