/**
 * Long answers are counted against the memory that is left, as request bodies are: what finds none waits for it, and is refused where none
 * comes in time. Small answers are not counted.
 */
import { afterEach, describe, expect, test, vi } from "vitest";
import { createBodyBudget } from "../../../src/doors/body/body-budget.ts";
import { CallerAbort } from "../../../src/runtime/caller-abort.ts";

const KB = 1024;

/** Returns a budget whose memory has room for so many bytes of bodies and answers, and the answers of two calls. */
function budgetOf(memoryBytes: number, waitMs = 60_000) {
  const memory = { hasRoom: (held: number, more: number) => held + more <= memoryBytes, waitMs };
  const bodies = createBodyBudget({ maxBytes: 1e9, maxBytesPerAccount: 1e9, maxBytesEach: 1e9, memory });
  const [one, two] = [bodies.open("one"), bodies.open("two")];
  return { bodies, one, two, first: one.openAnswer(), second: two.openAnswer() };
}

afterEach(() => void vi.useRealTimers());

describe("the memory for answers", () => {
  test("is taken by long ones as long as they are, beside bodies, and not by small ones", () => {
    const { bodies, one, two, first } = budgetOf(1000 * KB);
    expect(first.hold(64 * KB)).toBeUndefined();
    expect(bodies.bytes).toBe(0);
    first.hold(300 * KB);
    first.hold(200 * KB);
    two.add(400 * KB);
    expect(bodies.bytes).toBe(600 * KB);
    expect(() => two.add(401 * KB)).toThrow("the gateway has under way");
    one.releaseBody();
    expect(bodies.bytes).toBe(600 * KB);
    one.release();
    two.release();
    expect(bodies.bytes).toBe(0);
  });

  test("is waited for until others give some back", async () => {
    const { bodies, one, two, first, second } = budgetOf(1000 * KB);
    first.hold(600 * KB);
    expect(second.tryHold(500 * KB)).toBe(false);
    const waiting = second.hold(500 * KB);
    expect(waiting).toBeInstanceOf(Promise);
    one.release();
    await waiting;
    expect(bodies.bytes).toBe(500 * KB);
    two.release();
    expect(bodies.bytes).toBe(0);
  });

  test("is waited for until a body gives some back", async () => {
    const { bodies, one, second, two } = budgetOf(1000 * KB);
    one.add(600 * KB);
    const waiting = second.hold(500 * KB);
    one.releaseBody();
    await waiting;
    expect(bodies.bytes).toBe(500 * KB);
    two.release();
  });

  test("is not waited for for ever", async () => {
    const { bodies, one, first, second } = budgetOf(1000 * KB, 1);
    first.hold(600 * KB);
    await expect(second.hold(500 * KB)).rejects.toThrow("no memory for so long an answer");
    expect(bodies.bytes).toBe(600 * KB);
    one.release();
  });

  test("is not waited for by answers that all wait for each other: the last is refused, and the first goes on", async () => {
    const { bodies, one, first, second } = budgetOf(1000 * KB);
    first.hold(400 * KB);
    second.hold(500 * KB);
    const [older, younger] = [first.hold(900 * KB), second.hold(900 * KB)];
    await expect(younger).rejects.toThrow("no memory for so long an answer");
    second.release();
    await older;
    expect(bodies.bytes).toBe(900 * KB);
    one.release();
    expect(bodies.bytes).toBe(0);
  });

  test("is not waited for once its call is over, which counts nothing more", async () => {
    const { bodies, one, two, first, second } = budgetOf(1000 * KB);
    first.hold(600 * KB);
    const waiting = second.hold(500 * KB);
    two.release();
    await waiting;
    expect(bodies.bytes).toBe(600 * KB);
    one.release();
    expect(second.tryHold(500 * KB)).toBe(true);
    two.openAnswer().hold(500 * KB);
    expect(bodies.bytes).toBe(0);
  });

  test("is not waited for once nobody waits for the answer, nor longer than its caller does", async () => {
    const { bodies, one, two, first } = budgetOf(1000 * KB);
    first.hold(600 * KB);
    const abort = new CallerAbort();
    const noted: boolean[] = [];
    const note = (isWaiting: boolean) => void noted.push(isWaiting);
    const left = two.openAnswer({ signal: abort, until: Number.POSITIVE_INFINITY, note }).hold(500 * KB);
    abort.abort();
    await expect(left).rejects.toThrow("went away");
    await expect(two.openAnswer({ signal: abort, until: 0, note }).hold(500 * KB)).rejects.toThrow("went away");
    const late = two.openAnswer({ signal: new CallerAbort(), until: 0, note }).hold(500 * KB);
    await expect(late).rejects.toThrow("no memory for so long an answer");
    expect(noted).toEqual([true, false, true, false, true, false]);
    one.release();
    expect(bodies.bytes).toBe(0);
  });

  test("is taken bit by bit by an answer that may become longer than all of it, while no other is held", async () => {
    const { bodies, one, two, first, second } = budgetOf(1000 * KB);
    first.hold(300 * KB);
    const waiting = second.hold(1024 * KB, 600 * KB);
    expect(waiting).toBeInstanceOf(Promise);
    expect(bodies.bytes).toBe(300 * KB);
    one.release();
    await waiting;
    expect(bodies.bytes).toBe(600 * KB);
    expect(second.hold(1024 * KB, 900 * KB)).toBeUndefined();
    expect(bodies.bytes).toBe(900 * KB);
    two.release();
    expect(bodies.bytes).toBe(0);
  });

  test("is waited for as long in all, however long ago it was waited for before", async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "performance"] });
    const { one, two, first, second } = budgetOf(1000 * KB, 1000);
    first.hold(600 * KB);
    const early = second.hold(500 * KB);
    vi.advanceTimersByTime(500);
    first.tryHold(0);
    await early;
    second.tryHold(0);
    vi.advanceTimersByTime(60_000);
    first.hold(600 * KB);
    const later = second.hold(500 * KB);
    vi.advanceTimersByTime(250);
    first.tryHold(0);
    await later;
    second.tryHold(0);
    first.hold(600 * KB);
    const last = second.hold(500 * KB);
    vi.advanceTimersByTime(250);
    await expect(last).rejects.toThrow("no memory for so long an answer");
    one.release();
    two.release();
  });
});
