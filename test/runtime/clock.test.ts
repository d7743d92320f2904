/**
 * The clock of calls: one moment for everything that is done synchronously for a read of a connection, and the system clock otherwise.
 */
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { expect, test } from "vitest";
import { readIntoSharedMemory, sharedOnRead } from "../../src/http1/read-buffer.ts";
import { inOneMoment, readClock } from "../../src/runtime/clock.ts";

/** Blocks until the system clock has moved. */
function letPass(moment: number): void {
  while (Date.now() <= moment);
}

/** Reads the clock twice, with time in between. */
function look(): [before: number, after: number] {
  const before = readClock();
  letPass(before);
  return [before, readClock()];
}

test("is the machine's own where nothing is read", () => {
  const [before, after] = look();
  expect(after).toBeGreaterThan(before);
});

test("stands still within a read, and begins anew with the next", () => {
  const told: number[] = [];
  const read = inOneMoment(() => void told.push(...look()));
  read(1);
  read(1);
  const [first, again, second] = told as [number, number, number];
  expect(again).toBe(first);
  expect(second).toBeGreaterThan(first);
  expect(readClock()).toBeGreaterThan(first);
});

test("is the machine's own for what follows later from a read", async () => {
  let later: Promise<[number, number]> | undefined;
  inOneMoment(() => {
    later = Promise.resolve().then(look);
  })(1);
  const [before, after] = (await later) as [number, number];
  expect(after).toBeGreaterThan(before);
});

test("is the machine's own after a read that failed", () => {
  const failing = inOneMoment(() => {
    throw new Error("failed");
  });
  expect(() => failing(1)).toThrow("failed");
  const [before, after] = look();
  expect(after).toBeGreaterThan(before);
});

test("stands still where connections are read that were made, and that were taken", async () => {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  const takenSocket = once(server, "connection") as Promise<[Socket]>;
  const made = new Promise<[number, number]>((resolve) => {
    const socket = connect({ port, host: "127.0.0.1", onread: sharedOnRead(() => resolve(look())) });
    socket.write("asked");
  });
  const [socket] = await takenSocket;
  const taken = new Promise<[number, number]>((resolve) => {
    expect(readIntoSharedMemory(socket, () => resolve(look()))).toBeDefined();
  });
  socket.resume();
  socket.write("answered");
  for (const [before, after] of await Promise.all([made, taken])) expect(after).toBe(before);
  socket.destroy();
  server.close();
});
