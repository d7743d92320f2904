/** PushStream passes items on one at a time, and stops when its consumer takes no more. */
import { deepStrictEqual, rejects, strictEqual } from "node:assert";
import { describe, test } from "vitest";
import { forEach, onEnd, pushStream, stopPulling } from "../../src/runtime/push-stream.ts";

/** A source of 1, 2, 3 that logs what it does, and how it ends. */
function counting(notes: string[], failure?: Error) {
  return pushStream<number>(async (take) => {
    try {
      for (const item of [1, 2, 3]) {
        notes.push(`has ${item}`);
        await take(item);
      }
      if (failure) throw failure;
    } catch (error) {
      notes.push(error === stopPulling ? "was left" : "failed");
      throw error;
    } finally {
      notes.push("is over");
    }
  });
}

/** A stage between source and consumer. */
const passedOn = (items: AsyncIterable<number>, notes: string[]) =>
  pushStream<number>(async (take) => {
    await forEach(items, take).catch((error: unknown) => {
      notes.push(error === stopPulling ? "passes on a leaving" : "passes on a failure");
      throw error;
    });
  });

async function* generated(notes: string[]) {
  try {
    yield* [1, 2, 3];
  } finally {
    notes.push("is over");
  }
}

const failure = new Error("no more");

describe("a flow", () => {
  test("hands over the next item when the one before has been taken", async () => {
    const notes: string[] = [];
    await forEach(passedOn(counting(notes), notes), async (item) => {
      await Promise.resolve();
      notes.push(`took ${item}`);
    });
    deepStrictEqual(notes, ["has 1", "took 1", "has 2", "took 2", "has 3", "took 3", "is over"]);
  });

  test("tells its failure to all, after what came before it", async () => {
    const notes: string[] = [];
    const seen: number[] = [];
    const taking = forEach(passedOn(counting(notes, failure), notes), (item) => {
      seen.push(item);
      return undefined;
    });
    await rejects(taking, failure);
    deepStrictEqual(seen, [1, 2, 3]);
    deepStrictEqual(notes.slice(3), ["failed", "is over", "passes on a failure"]);
  });

  for (const [how, thrower] of [
    ["throws", (): undefined => fail()],
    ["rejects", async () => fail()],
  ] as const) {
    test(`is left by a taker that ${how}, whose failure is none of those before it`, async () => {
      const notes: string[] = [];
      await rejects(forEach(passedOn(counting(notes), notes), thrower), failure);
      deepStrictEqual(notes, ["has 1", "was left", "is over", "passes on a leaving"]);
    });
  }

  test("may be watched, and tells once how it ended: with nothing where nobody took more", async () => {
    const notes: unknown[] = [];
    const watched = (failure?: Error) =>
      onEnd(
        counting([], failure),
        (failure) => notes.push("ended", failure),
        (item) => notes.push(item),
      );
    const take = () => undefined;
    await forEach(watched(), take);
    await rejects(forEach(watched(failure), take), failure);
    await rejects(forEach(watched(), fail), failure);
    for await (const _ of watched()) break;
    const all = [1, 2, 3, "ended"];
    deepStrictEqual(notes, [
      ...all,
      undefined,
      ...all,
      failure,
      ...[1, "ended", undefined],
      ...[1, "ended", undefined],
    ]);
  });

  test("can be iterated, is asked for each item then, and may be left", async () => {
    const notes: string[] = [];
    for await (const item of counting(notes)) {
      notes.push(`took ${item}`);
      if (item === 2) break;
    }
    deepStrictEqual(notes, ["has 1", "took 1", "has 2", "took 2", "was left", "is over"]);
  });

  test("tells its failure to who iterates", async () => {
    const seen: number[] = [];
    await rejects(async () => {
      for await (const item of counting([], failure)) seen.push(item);
    }, failure);
    deepStrictEqual(seen, [1, 2, 3]);
  });

  test("can be made of any iterable, which is left where nobody takes more", async () => {
    const notes: string[] = [];
    let sum = 0;
    await forEach(passedOn(generated(notes), notes), (item) => {
      sum += item;
      return undefined;
    });
    strictEqual(sum, 6);
    await rejects(forEach(passedOn(generated(notes), notes), fail), failure);
    deepStrictEqual(notes, ["is over", "is over", "passes on a leaving"]);
  });
});

function fail(): never {
  throw failure;
}
