/** Frames of HTTP/2 that cost their sender nothing: streams that are reset, and floods of each kind that RFC 9113 names. */
import { setTimeout as delay } from "node:timers/promises";
import {
  data,
  flags,
  frame,
  headers,
  openH2,
  postFields,
  preface,
  reset,
  settings,
  types,
  windowUpdate,
} from "../h2.ts";
import { drained, flood, open } from "../raw.ts";
import { chat, chatPath, type Row, type Stage } from "../row.ts";

const connections = 4;

/**
 * Writes batches on some connections at once, as fast as they are taken, and opens a new connection where one is closed.
 * Tells how many batches were sent, and how many connections cut.
 */
async function floodAll(stage: Stage, count: number, batch: (turn: number) => Buffer) {
  const end = performance.now() + stage.ms;
  const goesOn = () => performance.now() < end && !stage.signal.aborted;
  let [sent, cut] = [0, 0];
  const one = async () => {
    while (goesOn()) {
      const client = await openH2(stage.gateway.port, { reads: false }).catch(() => undefined);
      for (let turn = 0; client && goesOn() && !client.socket.destroyed && client.goneAway() === undefined; turn++) {
        sent++;
        if (client.socket.write(batch(turn))) await delay(0);
        else await drained(client.socket, false, stage.ms);
      }
      if (goesOn()) cut++;
      client?.socket.destroy();
      // Whoever is cut comes again, but not at once.
      await delay(10);
    }
  };
  await Promise.all(Array.from({ length: count }, one));
  return { sent, cut };
}

const perBatch = 100;

/** Streams that begin and are reset at once. */
const resets = (name: string, attack: string, streamOf: (key: string, id: number) => Buffer): Row => ({
  ...{ name, attack, item: 3, short: name === "rapid-reset" },
  holds: "a connection's streams and resets are budgeted: beyond it is told to go away; others are served",
  async run(stage) {
    const { keys } = stage.gateway;
    const { sent, cut } = await floodAll(stage, 8, (turn) =>
      Buffer.concat(Array.from({ length: perBatch }, (_, i) => streamOf(keys.rich, (turn * perBatch + i) * 2 + 1))),
    );
    return { told: `${sent * perBatch} streams, ${cut} connections cut`, faults: [] };
  },
});

const body = Buffer.from(chat("calm", "x".repeat(100)));
const large = Buffer.from(chat("calm", "x".repeat(8_000)));

const rapidReset = resets("rapid-reset", "8 connections of streams that are reset at once", (key, id) =>
  Buffer.concat([headers(id, postFields(chatPath, key)), reset(id)]),
);
const resetBodies = resets("rapid-reset-bodies", "the same with bodies that are complete", (key, id) =>
  Buffer.concat([headers(id, postFields(chatPath, key)), data(id, body), reset(id)]),
);
const resetLarge = resets("rapid-reset-large-bodies", "the same with bodies of 8 kB, unauthorised", (_, id) =>
  Buffer.concat([headers(id, postFields(chatPath, "sk-none")), data(id, large), reset(id)]),
);

/** A flood of one frame on a stream that is open. */
const floodRow = (name: string, attack: string, bytes: (id: number) => Buffer): Row => ({
  ...{ name: `flood-${name}`, item: 3, attack: `4 connections with a flood of ${attack}` },
  holds: "costs its sender its connection at most; others are served",
  async run(stage) {
    const { keys } = stage.gateway;
    const some = Math.max(1, Math.floor(32_768 / bytes(1).length));
    const frames = Buffer.concat(Array.from({ length: some }, () => bytes(1)));
    const begin = headers(1, postFields(chatPath, keys.rich));
    const half = { ...stage, ms: stage.ms / 2 };
    const { sent, cut } = await floodAll(half, connections, (turn) =>
      turn === 0 ? Buffer.concat([begin, frames]) : frames,
    );
    return { told: `${sent * some} frames, ${cut} connections cut`, faults: [] };
  },
});

const four = (value: number) => Buffer.of(0, 0, 0, value);

const continuations: Row = {
  ...{ name: "flood-continuation", item: 3 },
  attack: "4 connections with a head of HTTP/2 that never ends",
  holds: "is refused at the bound of heads",
  async run(stage) {
    const piece = frame(types.continuation, 0, 1, Buffer.alloc(1_000, "\x10\x01a\x01b"));
    const batch = Buffer.concat(Array.from({ length: 30 }, () => piece));
    const end = performance.now() + stage.ms / 2;
    let [sent, cut] = [0, 0];
    const one = async () => {
      while (performance.now() < end) {
        const socket = await open(stage.gateway.port);
        socket.resume().write(Buffer.concat([preface, settings(), frame(types.headers, 0, 1)]));
        sent += await flood(socket, batch, end - performance.now(), stage.signal);
        if (socket.destroyed) cut++;
        socket.destroy();
      }
    };
    await Promise.all(Array.from({ length: connections }, one));
    return { told: `${sent * 30} frames, ${cut} connections cut`, faults: [] };
  },
};

export const floods: readonly Row[] = [
  rapidReset,
  resetBodies,
  resetLarge,
  floodRow("window-update", "WINDOW_UPDATE on a stream and the connection", (id) =>
    Buffer.concat([windowUpdate(0, 1), windowUpdate(id, 1)]),
  ),
  floodRow("settings", "SETTINGS", () => frame(types.settings, 0, 0)),
  floodRow("ping", "PING", () => frame(types.ping, 0, 0, Buffer.alloc(8))),
  floodRow("empty-data", "DATA without a byte", (id) => frame(types.data, 0, id)),
  floodRow("priority", "PRIORITY", (id) => frame(types.priority, 0, id, Buffer.concat([four(0), Buffer.of(1)]))),
  floodRow("unknown", "frames of a kind that nobody knows", (id) => frame(0xee, flags.ack, id, Buffer.alloc(16))),
  continuations,
];
