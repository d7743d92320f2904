/**
 * Measures latencies in milliseconds: of consecutive answers on one connection, of answers at a fixed rate, and of
 * streams' first chunks.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { type Asked, type Connection, open } from "./http.ts";

/** inTurn sends the next request after each answer. */
export async function inTurn({ port, bytes }: Asked, seconds: number): Promise<number[]> {
  const connection = await open(port);
  const times: number[] = [];
  const end = performance.now() + seconds * 1000;
  for (let begun = performance.now(); begun < end; begun = performance.now()) {
    expectOk((await connection.ask(bytes)).status, port);
    times.push(performance.now() - begun);
  }
  connection.close();
  return times;
}

/**
 * atRate sends requests at a fixed rate, on a new connection if all are busy: a slow answer delays no later request.
 */
export async function atRate({ port, bytes }: Asked, rate: number, seconds: number): Promise<number[]> {
  const free: Connection[] = [];
  const running: Promise<void>[] = [];
  const times: number[] = [];
  const ask = async () => {
    const connection = free.pop() ?? (await open(port));
    const begun = performance.now();
    expectOk((await connection.ask(bytes)).status, port);
    times.push(performance.now() - begun);
    free.push(connection);
  };
  const begun = performance.now();
  for (let asked = 0; asked < rate * seconds; ) {
    const due = Math.min(rate * seconds, Math.floor(((performance.now() - begun) / 1000) * rate));
    for (; asked < due; asked++) running.push(ask());
    await sleep(1);
  }
  await Promise.all(running);
  for (const connection of free) connection.close();
  return times;
}

/** firstChunks opens streams one after another and returns the time to each one's first chunk. */
export async function firstChunks({ port, bytes }: Asked, seconds: number): Promise<number[]> {
  let begun = 0;
  let taken: number | undefined;
  const connection = await open(port, (data) => {
    if (taken === undefined && data.includes("data: ")) taken = performance.now() - begun;
  });
  const times: number[] = [];
  const end = performance.now() + seconds * 1000;
  while (performance.now() < end) {
    taken = undefined;
    begun = performance.now();
    expectOk((await connection.ask(bytes)).status, port);
    times.push(taken ?? Number.NaN);
  }
  connection.close();
  return times;
}

function expectOk(status: number, port: number): void {
  if (status !== 200) throw new Error(`port ${port} answered ${status}`);
}
