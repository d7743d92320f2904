/** Long requests find room only where the process has memory for them; garbage is collected first, and not again and again. */
import { expect, test } from "vitest";
import { createMemoryRoom } from "../../../src/runtime/memory/memory-room.ts";

const mebibyte = 2 ** 20;

/** A process of 512 MiB, of which `resident` are taken. A collection leaves what is `live`. */
function processOf(resident: number, live: number) {
  const state = { resident, live, now: 0, looks: 0, collections: 0, reports: [] as number[] };
  const room = createMemoryRoom({
    totalBytes: 512 * mebibyte,
    onShort: (bytes) => void state.reports.push(bytes / mebibyte),
    availableBytes: () => {
      state.looks++;
      return (512 - state.resident) * mebibyte;
    },
    collect: () => {
      state.collections++;
      state.resident = state.live;
    },
    clock: () => state.now,
  });
  return { state, hasRoom: (held: number, more = 1) => room.hasRoom(held * mebibyte, more * mebibyte) };
}

test("there is room while what is resident, and what the bodies will take, fit in the memory", () => {
  const { hasRoom, state } = processOf(300, 300);
  expect(hasRoom(0, 16)).toBe(true);
  expect(hasRoom(16, 7)).toBe(true);
  expect(state.collections).toBe(0);
  expect(hasRoom(23, 16)).toBe(false);
});

test("what lacks is collected first, and then there is room", () => {
  const { hasRoom, state } = processOf(490, 200);
  expect(hasRoom(0)).toBe(true);
  expect([state.collections, state.resident]).toEqual([1, 200]);
  expect(state.reports).toEqual([]);
});

test("where a collection brings nothing, there is another no sooner than after a second", () => {
  const { hasRoom, state } = processOf(500, 490);
  for (let i = 0; i < 50; i++) expect(hasRoom(0)).toBe(false);
  expect(state.collections).toBe(1);
  state.now = 999;
  expect(hasRoom(0)).toBe(false);
  expect(state.collections).toBe(1);
  state.now = 1_000;
  state.live = 100;
  expect(hasRoom(0)).toBe(true);
  expect(state.collections).toBe(2);
});

test("that memory is short is reported once a minute, with what is left", () => {
  const { hasRoom, state } = processOf(500, 490);
  for (state.now = 0; state.now < 60_000; state.now += 500) hasRoom(0);
  expect(state.reports).toEqual([22]);
  hasRoom(0);
  expect(state.reports).toEqual([22, 22]);
});

test("memory is looked at once for each mebibyte that comes, and each time while there is none", () => {
  const { hasRoom, state } = processOf(100, 100);
  for (let i = 0; i < 160; i++) expect(hasRoom(i / 10, 0.1)).toBe(true);
  expect(state.looks).toBeGreaterThanOrEqual(14);
  expect(state.looks).toBeLessThanOrEqual(17);
  state.resident = state.live = 500;
  for (let i = 0; i < 11 && hasRoom(0, 0.1); i++);
  const before = state.looks;
  expect(hasRoom(0, 0.1)).toBe(false);
  state.resident = 100;
  expect(hasRoom(0, 0.1)).toBe(true);
  expect(state.looks).toBe(before + 2);
});
