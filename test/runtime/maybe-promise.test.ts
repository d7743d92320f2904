/** Deferred calls its continuations at once, in order, and with every failure; the helpers treat values and promises alike. */
import { describe, expect, test } from "vitest";
import {
  andThen,
  catchError,
  Deferred,
  isPromise,
  type MaybePromise,
  thenOrCatch,
} from "../../src/runtime/maybe-promise.ts";

const failing = (words: string) => () => {
  throw new Error(words);
};

describe("what will be there", () => {
  test("is handed on by plain calls, through every hand, before whoever says so goes on", () => {
    const later = new Deferred<number>();
    const seen: string[] = [];
    later.then((value) => value + 1).then((value) => seen.push(`first ${value}`));
    later.then((value) => seen.push(`second ${value}`));
    later.resolve(1);
    expect(seen).toEqual(["first 2", "second 1"]);
  });

  test("is there for who comes too late, and only the first word counts", () => {
    const later = new Deferred<string>();
    later.resolve("this");
    later.resolve("that");
    later.reject(new Error("neither"));
    const seen: unknown[] = [];
    later.then((value) => seen.push(value));
    expect(seen).toEqual(["this"]);
  });

  test("fails for all behind it until one knows better", () => {
    const later = new Deferred<string>();
    const seen: unknown[] = [];
    const known = later.then(() => seen.push("never")).then(undefined, (error) => (error as Error).message);
    known.then((words) => seen.push(words));
    later.reject(new Error("broken"));
    expect(seen).toEqual(["broken"]);
  });

  test("tells the next, and nobody else, what a hand throws", () => {
    const later = new Deferred<string>();
    const seen: unknown[] = [];
    later.then(failing("dropped")).then(undefined, (error) => seen.push((error as Error).message));
    later.then((value) => seen.push(value));
    expect(() => later.resolve("well")).not.toThrow();
    expect(seen).toEqual(["dropped", "well"]);
  });

  test("waits for a hand that has to wait itself, for another or for a promise", async () => {
    const [later, further] = [new Deferred<number>(), new Deferred<number>()];
    const both = later.then(() => further).then(async (value) => value * 2);
    later.resolve(1);
    further.resolve(21);
    expect(await both).toBe(42);
    const failed = later.then(() => Promise.reject(new Error("late")));
    await expect((async () => failed)()).rejects.toThrow("late");
  });

  test("is waited for by async functions, and found among promises", async () => {
    const later = new Deferred<string>();
    setImmediate(() => later.resolve("now"));
    expect(await Promise.all([later, "there"])).toEqual(["now", "there"]);
    expect([isPromise(later), isPromise(Promise.resolve()), isPromise("there")]).toEqual([true, true, false]);
  });
});

describe("who goes on", () => {
  const ways: readonly (readonly [string, (work: () => string) => MaybePromise<string>])[] = [
    ["now", (work) => work()],
    ["soon", (work) => comes(work)],
    ["by a promise", async (work) => work()],
  ];

  function comes(work: () => string): Deferred<string> {
    const later = new Deferred<string>();
    const made = later.then(work);
    setImmediate(() => later.resolve(""));
    return made;
  }

  for (const [name, way] of ways) {
    test(`does so with what is there ${name}`, async () => {
      expect(
        await andThen(
          way(() => "a"),
          (value) => `${value}b`,
        ),
      ).toBe("ab");
      expect(
        await thenOrCatch(
          () => way(() => "a"),
          (value) => `${value}b`,
          String,
        ),
      ).toBe("ab");
      expect(await catchError(() => way(() => "a"), String)).toBe("a");
    });

    test(`and with what it fails by ${name}, but not with what going on fails by`, async () => {
      const broken = () => way(failing("broken"));
      expect(await thenOrCatch(broken, () => "never", String)).toBe("Error: broken");
      expect(await catchError(broken, String)).toBe("Error: broken");
      const thrown = async () => thenOrCatch(() => way(() => "a"), failing("further"), String);
      await expect(thrown()).rejects.toThrow("further");
    });
  }
});
