/** A server is away when it was silent while this process could have heard it, and not because this process stalled. */
import { stat } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { createSilence } from "../../../../src/runtime/ipc/silence.ts";
import type { Session } from "../../../../src/storage/engines/postgres/session.ts";
import { within } from "../../../../src/storage/engines/postgres/silence.ts";
import { startWatcher } from "../../../../src/storage/engines/postgres/watcher.ts";

/** Keeps the event loop from running, as compiling does. */
function stall(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

test("a silence counts by looks, and a stall between two as a short one", () => {
  let now = 5_000;
  const silence = createSilence(() => now);
  const pass = (ms: number) => {
    now += ms;
    silence.look();
  };
  for (let i = 0; i < 20; i++) pass(50);
  expect(silence.ms()).toBe(1000);
  pass(3000);
  expect(silence.ms()).toBe(1100);
  silence.heard();
  expect(silence.ms()).toBe(0);
  now += 4000;
  expect(silence.ms()).toBe(0);
  pass(0);
  expect(silence.ms()).toBe(100);
  // Looks that are late on a busy machine count as the time that they are late.
  for (let i = 0; i < 10; i++) pass(80);
  expect(silence.ms()).toBe(900);
});

test("what came during a stall is in time, and what never comes is not waited for", async () => {
  const answer = stat(".");
  setImmediate(() => stall(700));
  expect((await within(answer, 200)).isDirectory()).toBe(true);
  const begin = performance.now();
  await expect(within(new Promise(() => {}), 220)).rejects.toThrow("the database does not answer");
  expect(performance.now() - begin).toBeGreaterThan(210);
});

test("a stall of the event loop says nothing of the server, and the connection stays", async () => {
  const errors: unknown[] = [];
  let [connected, asked, isStalling] = [0, 0, false];
  const session: Session = {
    async query() {
      asked++;
      // The answer comes by the system, as from a socket, while the loop stalls.
      if (isStalling) setImmediate(() => stall(1500));
      isStalling = false;
      await stat(".");
      return [{ number: 1, nodes: 2, recalls: [] }];
    },
    listen: undefined,
    isOpen: () => true,
    close: () => {},
  };
  const connect = async () => {
    connected++;
    return session;
  };
  const watcher = await startWatcher({ connect, onError: (error) => errors.push(error) });
  const told: (number | undefined)[] = [];
  const looking = setInterval(() => told.push(watcher.awayMs()), 5);
  const before = asked;
  isStalling = true;
  while (asked < before + 3) await delay(20);
  clearInterval(looking);
  expect([errors, connected, watcher.nodes()]).toEqual([[], 1, 2]);
  expect(told.length).toBeGreaterThan(10);
  expect(told.filter((ms) => ms !== undefined)).toEqual([]);
  // Between two questions, too: it was not asked.
  const version = watcher.version();
  stall(1200);
  expect(watcher.version()).not.toBe(version);
  await delay(0);
  expect(watcher.awayMs()).toBeUndefined();
  watcher.close();
});
