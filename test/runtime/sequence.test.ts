/** `sequence` runs its steps in order, waits only for promises, and passes every failure to its handler. */
import { expect, test } from "vitest";
import { Deferred, type MaybePromise } from "../../src/runtime/maybe-promise.ts";
import { sequence } from "../../src/runtime/sequence.ts";

interface State {
  readonly log: string[];
  readonly wait?: number;
  readonly fail?: number;
}

const steps = [1, 2, 3].map((number) => (state: State, input?: string): MaybePromise<string> => {
  state.log.push(`${number} got ${input}`);
  if (state.fail === number && state.wait !== number) throw new Error(`${number} failed`);
  const result = `result ${number}`;
  if (state.wait !== number) return result;
  const later = new Deferred<string>();
  setImmediate(() => (state.fail === number ? later.reject(new Error(`${number} failed`)) : later.resolve(result)));
  return later;
}) as unknown as readonly [
  (state: State) => MaybePromise<string>,
  (state: State, input: string) => MaybePromise<string>,
  (state: State, input: string) => MaybePromise<string>,
];

const plain = sequence(steps);
const guarded = sequence(steps, (state, error) => {
  state.log.push(`handled: ${(error as Error).message}`);
  throw error;
});

const all = ["1 got undefined", "2 got result 1", "3 got result 2"];

for (const [name, run] of [
  ["without a handler", plain],
  ["with a handler", guarded],
] as const) {
  test(`returns the last value at once where every step does: ${name}`, () => {
    const log: string[] = [];
    expect(run({ log })).toBe("result 3");
    expect(log).toEqual(all);
  });

  test.each([1, 2, 3])(`waits for the promise of step %i, and goes on: ${name}`, async (wait) => {
    const log: string[] = [];
    const running = run({ log, wait });
    expect(running).toBeInstanceOf(Deferred);
    expect(log).toEqual(all.slice(0, wait));
    expect(await running).toBe("result 3");
    expect(log).toEqual(all);
  });
}

test.each([1, 2, 3])("passes what step %i throws to the handler, once", (fail) => {
  const log: string[] = [];
  expect(() => guarded({ log, fail })).toThrow(`${fail} failed`);
  expect(log).toEqual([...all.slice(0, fail), `handled: ${fail} failed`]);
});

test.each([
  [1, 1],
  [2, 2],
  [3, 3],
  [1, 2],
  [1, 3],
  [2, 3],
])("passes the failure to the handler, once, where step %i waits and step %i fails", async (wait, fail) => {
  const log: string[] = [];
  await expect(guarded({ log, wait, fail })).rejects.toThrow(`${fail} failed`);
  expect(log).toEqual([...all.slice(0, fail), `handled: ${fail} failed`]);
});

test("without a handler throws what a step throws, now or later", async () => {
  expect(() => plain({ log: [], fail: 2 })).toThrow("2 failed");
  await expect(plain({ log: [], wait: 1, fail: 2 })).rejects.toThrow("2 failed");
});
