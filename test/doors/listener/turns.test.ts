/**
 * Requests begin over turns of the event loop: some at once, fewer while connections come, since Node accepts one a turn. Sessions wait while
 * they come, for a moment.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test, vi } from "vitest";
import { type Origin, originOf } from "../../../src/doors/listener/rotation.ts";
import { createTurns, requestTurns, sessionTurns, type Turns } from "../../../src/doors/listener/turns.ts";

const never = () => false;
const origin: Origin = { network: "192.0.2.1", connection: {} };

/** Asks for so many at once, and returns how many have begun after each of some turns. */
async function begunAfter(turns: Turns, count: number, rounds: number) {
  let begun = 0;
  for (let i = 0; i < count; i++) turns.begin({ begin: () => begun++, isOver: never, origin });
  const seen = [begun];
  for (let i = 0; i < rounds; i++) {
    await nextTurn();
    seen.push(begun);
  }
  return seen;
}

test("requests that come at once begin over several turns, in their order", async () => {
  expect(await begunAfter(createTurns(requestTurns), 80, 3)).toEqual([32, 64, 80, 80]);
});

test("while connections are accepted turns are short, and long again afterwards", async () => {
  const turns = createTurns(requestTurns);
  turns.accepted();
  expect(await begunAfter(turns, 80, 5)).toEqual([2, 4, 6, 38, 70, 80]);
});

test("a connection that brings one waits for no other's hundreds, and each begins its own in their order", async () => {
  const turns = createTurns({ ...requestTurns, most: 2 });
  const begun: string[] = [];
  const bring = (name: string, count: number) => {
    const from = { network: origin.network, connection: {} };
    for (let i = 0; i < count; i++) turns.begin({ begin: () => begun.push(name + i), isOver: never, origin: from });
  };
  bring("m", 100);
  bring("o", 4);
  bring("1", 1);
  await nextTurn();
  await nextTurn();
  expect(begun).toEqual(["m0", "m1", "m2", "o0", "10", "m3"]);
  for (let i = 0; i < 2; i++) await nextTurn();
  expect(begun.slice(6)).toEqual(["o1", "m4", "o2", "m5"]);
});

test("heavy work that exceeds a short turn is made up for by the next ones", async () => {
  const turns = createTurns(requestTurns);
  const begun = vi.fn();
  const seen: number[] = [];
  for (let i = 0; i < 8; i++) {
    turns.accepted();
    turns.begin({ begin: begun, isOver: never, weight: 5, origin });
    await nextTurn();
    seen.push(begun.mock.calls.length);
  }
  expect(seen).toEqual([1, 2, 3, 3, 3, 4, 4, 5]);
});

test("one that is over when its turn comes does not begin", async () => {
  const turns = createTurns(requestTurns);
  const begun: number[] = [];
  for (let i = 0; i < 40; i++) {
    turns.begin({ begin: () => begun.push(i), isOver: () => i === 35, origin });
  }
  await nextTurn();
  await nextTurn();
  expect(begun).toHaveLength(39);
  expect(begun).not.toContain(35);
});

test("one that throws ends none of the others", async () => {
  const turns = createTurns({ ...requestTurns, most: 1 });
  const begun = vi.fn();
  const thrown = new Promise((resolve) => process.once("uncaughtException", resolve));
  const broken = () => {
    throw new Error("broken");
  };
  for (const begin of [begun, broken, begun]) turns.begin({ begin, isOver: never, origin });
  expect(await thrown).toMatchObject({ message: "broken" });
  await nextTurn();
  await nextTurn();
  expect(begun).toHaveBeenCalledTimes(2);
});

test("a network with one connection waits for no other's hundreds, with whatever they bring", async () => {
  const turns = createTurns({ ...requestTurns, most: 2 });
  const begun: string[] = [];
  const bring = (name: string, network: string) =>
    turns.begin({ begin: () => begun.push(name), isOver: never, origin: { network, connection: { name } } });
  for (let i = 0; i < 100; i++) bring(`m${i}`, "192.0.2.1");
  for (let i = 0; i < 3; i++) bring(`o${i}`, "192.0.2.2");
  for (let i = 0; i < 3; i++) await nextTurn();
  expect(begun).toEqual(["m0", "m1", "m2", "o0", "m3", "o1", "m4", "o2"]);
});

test("sessions begin once no more connections come, but for the first of a network", async () => {
  const turns = createTurns(sessionTurns);
  turns.accepted();
  expect(await begunAfter(turns, 20, 6)).toEqual([1, 1, 1, 7, 13, 19, 20]);
});

test("while connections come, a network waits for no other's sessions", async () => {
  const turns = createTurns({ ...sessionTurns, patienceMs: 60_000 });
  const begun: string[] = [];
  const bring = (network: string) =>
    turns.begin({ begin: () => begun.push(network), isOver: never, origin: { network, connection: {} } });
  for (let i = 0; i < 100; i++) {
    turns.accepted();
    bring("192.0.2.1");
    if (i === 50) bring("192.0.2.2");
    await nextTurn();
  }
  expect(begun).toEqual(["192.0.2.1", "192.0.2.2"]);
});

test("what has waited since before the connections came waits for them, too", async () => {
  const turns = createTurns({ ...sessionTurns, most: 1, patienceMs: 60_000 });
  const begun = vi.fn();
  for (let i = 0; i < 9; i++) turns.begin({ begin: begun, isOver: never, origin });
  await nextTurn();
  expect(begun).toHaveBeenCalledTimes(2);
  for (let i = 0; i < 20; i++) {
    turns.accepted();
    await nextTurn();
  }
  expect(begun).toHaveBeenCalledTimes(3);
  for (let i = 0; i < 4; i++) await nextTurn();
  expect(begun.mock.calls.length).toBeGreaterThan(4);
});

test("while connections come for longer than sessions wait, one begins a turn", async () => {
  const turns = createTurns({ ...sessionTurns, patienceMs: 1 });
  turns.accepted();
  const begun = vi.fn();
  for (let i = 0; i < 5; i++) turns.begin({ begin: begun, isOver: never, origin });
  expect(begun).toHaveBeenCalledTimes(1);
  for (const end = performance.now() + 1; performance.now() <= end; );
  for (let i = 2; i <= 4; i++) {
    turns.accepted();
    await nextTurn();
    expect(begun).toHaveBeenCalledTimes(i);
  }
});

test("an IPv4 address counts as one client, mapped or not, and of IPv6 the first half, whose rest its holder may choose", () => {
  const networkOf = (remoteAddress?: string) => originOf({ remoteAddress }).network;
  expect(networkOf("::ffff:192.0.2.1")).toBe(networkOf("192.0.2.1"));
  expect(networkOf("::ffff:192.0.2.2")).not.toBe(networkOf("192.0.2.1"));
  expect(networkOf("2001:db8::1")).toBe(networkOf("2001:db8::ffff:0:0:2"));
  expect(networkOf("2001:db8:0:1::1")).not.toBe(networkOf("2001:db8::1"));
  expect(networkOf(undefined)).toBe("");
});
