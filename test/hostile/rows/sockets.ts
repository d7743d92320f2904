/** WebSockets for responses: floods of frames that cost their sender nothing, messages in pieces, and clients that stay or leave. */
import { once } from "node:events";
import type { Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { frameOf } from "../../support/clients/response-sockets.ts";
import { bounds } from "../gateway.ts";
import { scrape } from "../measure.ts";
import { drained, flood, isClosedWithin, open } from "../raw.ts";
import { faultsOf, largestBody, type Row, type Stage, scaled } from "../row.ts";

/** The operations of frames (RFC 6455, 11.8). */
const [continuation, text, ping, pong] = [0, 1, 9, 10];

/** Opens a connection and upgrades it. Throws where it is refused. */
async function openSocket({ gateway: { port, keys }, patienceMs }: Stage, key = keys.rich): Promise<Socket> {
  const socket = await open(port);
  const answer = once(socket, "data", { signal: AbortSignal.timeout(patienceMs) });
  socket.write(
    `GET /v1/responses HTTP/1.1\r\nhost: h\r\nconnection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n` +
      `sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\nauthorization: Bearer ${key}\r\n\r\n`,
  );
  const [head] = (await answer) as [Buffer];
  if (!head.toString("latin1").startsWith("HTTP/1.1 101 ")) throw new Error("refused");
  return socket;
}

const openSockets = (stage: Stage, count: number, key?: string) =>
  Promise.all(Array.from({ length: count }, () => openSocket(stage, key)));

const create = (model: string, input: string) =>
  frameOf(Buffer.from(JSON.stringify({ type: "response.create", model, input, store: false, max_output_tokens: 50 })));

const batchBytes = 65_536;
/** Repeats a frame until it fills what is read at a time. */
const batchOf = (frame: Buffer) =>
  Buffer.concat(Array.from({ length: Math.floor(batchBytes / frame.length) }, () => frame));

/** A flood of one frame on four connections, which come again where they are cut. */
const floodRow = (name: string, attack: string, frame: Buffer, before?: Buffer): Row => ({
  ...{
    name: `socket-flood-${name}`,
    item: 3,
    short: name === "ping",
    attack: `4 WebSockets with a flood of ${attack}`,
  },
  holds: "costs its sender its connection at most; others are served",
  async run(stage) {
    const end = performance.now() + stage.ms;
    const batch = batchOf(frame);
    let [batches, cut] = [0, 0];
    const one = async () => {
      while (performance.now() < end && !stage.signal.aborted) {
        const socket = await openSocket(stage).catch(() => undefined);
        if (!socket) break;
        socket.resume();
        if (before) socket.write(before);
        batches += await flood(socket, batch, end - performance.now(), stage.signal);
        if (socket.destroyed && performance.now() < end) cut++;
        socket.destroy();
        await delay(10);
      }
    };
    await Promise.all(Array.from({ length: 4 }, one));
    return { told: `${((batches * batch.length) / 2 ** 20).toFixed(0)} MB, ${cut} connections cut`, faults: [] };
  },
});

const empty = Buffer.alloc(0);
const floods: readonly Row[] = [
  floodRow("ping", "pings", frameOf(empty, { opcode: ping })),
  floodRow("pong", "pongs", frameOf(empty, { opcode: pong })),
  floodRow(
    "empty-pieces",
    "empty pieces of a message",
    frameOf(empty, { opcode: continuation, fin: false }),
    frameOf(Buffer.from("{"), { opcode: text, fin: false }),
  ),
  floodRow("messages", "messages that are no requests", frameOf(Buffer.from("{}"))),
  floodRow("out-of-turn", "requests beside one that is answered", frameOf(Buffer.from("{}")), create("quiet", "x")),
  floodRow("receipts", "receipts", frameOf(Buffer.from('{"type":"response.processed","response_id":"r"}'))),
];

const pieces: Row = {
  ...{ name: "socket-pieces", item: 3 },
  attack: "8 WebSockets whose messages come in pieces of one byte",
  holds: "pieces are bounded as the message is: their number, and their bytes",
  async run(stage) {
    const sockets = await openSockets(stage, 8);
    const first = frameOf(Buffer.from("{"), { opcode: text, fin: false });
    const batch = batchOf(frameOf(Buffer.from(" "), { opcode: continuation, fin: false }));
    const sent = await Promise.all(
      sockets.map((socket) => {
        socket.resume().write(first);
        return flood(socket, batch, stage.ms, stage.signal);
      }),
    );
    const cut = sockets.filter(({ destroyed }) => destroyed).length;
    for (const socket of sockets) socket.destroy();
    return { told: `${sent.reduce((a, b) => a + b, 0)} batches; ${cut} of 8 cut`, faults: [] };
  },
};

const partial: Row = {
  ...{ name: "socket-partial-messages", item: 3, growth: 800, warm: 0.04 },
  attack: "100 messages of 16 MB over WebSockets, none of which is complete",
  holds: "bytes in flight are bounded, for the process and an account: beyond it the connection is closed",
  async run(stage) {
    const sockets = await openSockets(stage, scaled(stage, 100));
    const bytes = frameOf(Buffer.alloc(largestBody - 1024, "a"), { masked: true });
    await Promise.all(
      sockets.map((socket) => drained(socket.resume(), socket.write(bytes.subarray(0, bytes.length - 1)), 8_000)),
    );
    await delay(300);
    const cut = sockets.filter(({ destroyed }) => destroyed).length;
    for (const socket of sockets) socket.destroy();
    return {
      told: `${cut} of ${sockets.length} cut`,
      faults: faultsOf({ "none was put off": sockets.length >= 100 && cut === 0 }),
    };
  },
};

const running = async (stage: Stage) => {
  const series = await scrape(stage.gateway.metricsUrl);
  return series.get('model_gateway_requests_running{form="stream"}') ?? 0;
};

/** fillMs is how long a slow machine takes to fill what the system holds of connections. */
const fillMs = 10_000;

const stalled: Row = {
  ...{ name: "stalled-readers-socket", item: 1, warm: 0 },
  attack: "20 WebSockets that never read their answer",
  holds: "a reader that stalls is cut after `stalled_reader_seconds`: charged, its place and hold free",
  async run(stage) {
    const sockets = await openSockets(stage, 20);
    for (const socket of sockets) socket.pause().write(create("long", "48"));
    await delay(700);
    const begun = await running(stage);
    // What the system holds of 20 connections is filled first, by small events.
    let left = begun;
    for (const end = performance.now() + fillMs + bounds.stalledSeconds * 1000; left > 0 && performance.now() < end; ) {
      await delay(250);
      left = await running(stage);
    }
    for (const socket of sockets) socket.destroy();
    const told = `${begun} answers, ${left} left`;
    return { told, faults: faultsOf({ "answers go on": left > 0, "no answer ran": begun === 0 }) };
  },
};

const left: Row = {
  ...{ name: "sockets-left", item: 1 },
  attack: "300 WebSockets that end by FIN, a reset or half, in the midst of an answer or before a request",
  holds: "hold, place and descriptor of each are free",
  async run(stage) {
    const sockets = await openSockets(stage, scaled(stage, 300));
    for (const [i, socket] of sockets.entries()) if (i % 2 === 0) socket.resume().write(create("quiet", "x"));
    await delay(400);
    const begun = await running(stage);
    for (const [i, socket] of sockets.entries()) {
      if (i % 3 === 0) socket.resetAndDestroy();
      else socket.end();
    }
    const ended = await Promise.all(sockets.map((socket) => isClosedWithin(socket, 3_000)));
    const open = ended.filter((isEnded) => !isEnded).length;
    return {
      told: `${sockets.length} connections, ${begun} answers`,
      faults: faultsOf({ "some stay open": open > 0, "no answer ran": begun === 0 }),
    };
  },
};

export const sockets: readonly Row[] = [...floods, pieces, partial, stalled, left];
