/**
 * Clients of streams paced by their upstream: each chunk has its time of sending, and its delay is measured on
 * arrival.
 */
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { stampDigits, stampMark } from "../payloads.ts";
import { type Asked, open, requestBytes } from "./http.ts";

export interface PacedInit extends Asked {
  readonly connections: number;
  /** everyMs is the interval of a stream's chunks, in milliseconds. */
  readonly everyMs: number;
  readonly warmSeconds: number;
  /** seconds is how long delays are measured, in each window. */
  readonly seconds: number;
  /** stub is the stub's port, which is told when the streams end. */
  readonly stub: number;
  /** onBegin is called at the beginning of what is measured. */
  readonly onBegin?: () => void;
  readonly onEnd?: () => void;
}

const openAtOnce = 100;
const mark = stampMark.charCodeAt(0);
const width = stampDigits + 1;
const endMs = 15_000;
/** A window that is shorter is a trial and no measure: one pause of the machine takes a tenth of it. */
const measureSeconds = 1;

/**
 * readPaced opens the streams, reads them, and ends them. Returns the chunks' delays during the measured time, in
 * milliseconds.
 */
export async function readPaced(init: PacedInit): Promise<number[]> {
  return (await readWindows(init, 1)).flat();
}

/** readWindows opens the streams once and reads them in consecutive windows. Returns the delays of each window. */
export async function readWindows(init: PacedInit, count: number): Promise<number[][]> {
  const { connections, everyMs, warmSeconds, seconds, stub } = init;
  const windows: number[][] = [];
  let current: number[] | undefined;
  const onDelay = (ms: number) => current?.push(ms);
  const streams: Stream[] = [];
  try {
    while (streams.length < connections) {
      const more = Math.min(openAtOnce, connections - streams.length);
      streams.push(...(await Promise.all(Array.from({ length: more }, () => readStream(init, onDelay)))));
    }
    await sleep(warmSeconds * 1000);
    init.onBegin?.();
    for (let window = 0; window < count; window++) {
      current = [];
      windows.push(current);
      await sleep(seconds * 1000);
    }
    current = undefined;
    init.onEnd?.();
    const asker = await open(stub);
    await asker.ask(requestBytes("/end", {}, "{}"));
    asker.close();
    const late = sleep(endMs, "late", { ref: false });
    if ((await Promise.race([Promise.all(streams.map(({ ended }) => ended)), late])) === "late") {
      throw new Error(`streams at port ${init.port} have not ended ${endMs / 1000} s after their upstream's end`);
    }
  } finally {
    for (const { socket } of streams) socket.destroy();
  }
  if (seconds < measureSeconds) return windows;
  const expected = (connections * seconds * 1000) / everyMs;
  for (const { length } of windows) {
    if (length < 0.9 * expected) throw new Error(`${length} of ${expected} chunks came in time at port ${init.port}`);
  }
  return windows;
}

interface Stream {
  readonly socket: Socket;
  /** ended resolves at the stream's end, and rejects if it breaks. */
  readonly ended: Promise<unknown>;
}

/** readStream resolves at the first chunk. */
async function readStream({ port, bytes }: Asked, onDelay: (ms: number) => void): Promise<Stream> {
  const socket = connect({ port, host: "127.0.0.1", noDelay: true });
  let rest: Buffer | undefined;
  let begun = () => {};
  const first = new Promise<void>((resolve) => (begun = resolve));
  const ended = new Promise((resolve, reject) => {
    socket.on("error", reject);
    socket.on("close", () => reject(new Error(`a stream at port ${port} was broken off`)));
    socket.on("data", (data: Buffer) => {
      const now = Number(process.hrtime.bigint());
      const all = rest ? Buffer.concat([rest, data]) : data;
      rest = undefined;
      let at = all.indexOf(mark);
      for (; at !== -1; at = all.indexOf(mark, at)) {
        if (at + width >= all.length) {
          rest = all.subarray(at); // The moment is cut.
          return;
        }
        if (all[at + width] === mark) {
          onDelay((now - Number(all.toString("latin1", at + 1, at + width))) / 1e6);
          begun();
          at += width;
        }
        at++;
      }
      if (all.includes("[DONE]") || all.includes("message_stop")) resolve(undefined);
    });
  });
  ended.catch(() => {});
  socket.write(bytes);
  await Promise.race([first, ended]);
  return { socket, ended };
}
