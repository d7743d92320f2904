/**
 * Long answers are counted against the memory that is left, as request bodies are: what finds none waits for it, and is refused where none
 * comes in time. Small answers are not counted.
 */
import { describe, expect, test } from "vitest";
import { createBodyBudget } from "../../../src/doors/body/body-budget.ts";

const KB = 1024;

/** Returns a budget whose memory has room for so many bytes of bodies and answers, and the answers of two calls. */
function budgetOf(memoryBytes: number, waitMs = 60_000) {
  const memory = { hasRoom: (held: number, more: number) => held + more <= memoryBytes, waitMs };
  const bodies = createBodyBudget({ maxBytes: 1e9, maxBytesPerAccount: 1e9, maxBytesEach: 1e9, memory });
  const [one, two] = [bodies.open("one"), bodies.open("two")];
  return { bodies, one, two, first: one.openAnswer(), second: two.openAnswer() };
}

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

  test("is not waited for once its call is over", async () => {
    const { bodies, one, two, first, second } = budgetOf(1000 * KB);
    first.hold(600 * KB);
    const waiting = second.hold(500 * KB);
    two.release();
    await expect(waiting).rejects.toThrow();
    one.release();
    expect(second.tryHold(500 * KB)).toBe(true);
    expect(bodies.bytes).toBe(0);
  });
});
