/** Connections that stay: without a word, without reading, or a byte at a time. */
import { setTimeout as delay } from "node:timers/promises";
import { bounds } from "../gateway.ts";
import { data, headers, openH2, postFields, preface, windowUpdate } from "../h2.ts";
import { scrape } from "../measure.ts";
import { isClosedWithin, open, post, tally } from "../raw.ts";
import { chat, chatPath, faultsOf, type Row, type Stage, scaled } from "../row.ts";

/** How late a bound may be kept, in milliseconds: timers of many connections are looked at now and then. */
const slackMs = 3_500;

async function closed(sockets: readonly Parameters<typeof isClosedWithin>[0][], ms: number): Promise<number> {
  const all = await Promise.all(sockets.map((socket) => isClosedWithin(socket, ms)));
  for (const socket of sockets) socket.destroy();
  return all.filter(Boolean).length;
}

const idle: Row = {
  ...{ name: "idle-connections", item: 1, warm: 0 },
  attack: "50 connections of HTTP/1.1 and 50 of HTTP/2 that make a call and then nothing",
  holds: "each is closed after `idle_seconds`",
  async run({ gateway: { port, keys } }) {
    const ones = await Promise.all(Array.from({ length: 50 }, () => open(port)));
    const twos = await Promise.all(Array.from({ length: 50 }, () => openH2(port)));
    const body = chat("calm", "x");
    for (const socket of ones) socket.write(post(chatPath, keys.rich, body));
    const request = Buffer.concat([headers(1, postFields(chatPath, keys.rich)), data(1, Buffer.from(body))]);
    for (const { socket } of twos) socket.write(request);
    const ms = bounds.idleSeconds * 1000 + slackMs;
    const [one, two] = await Promise.all([
      closed(ones, ms),
      closed(
        twos.map(({ socket }) => socket),
        ms,
      ),
    ]);
    const told = `closed in time: ${one} of HTTP/1.1, ${two} of HTTP/2`;
    return { told, faults: faultsOf({ "HTTP/1.1 is kept": one < 50, "HTTP/2 is kept": two < 50 }) };
  },
};

const silent: Row = {
  ...{ name: "silent-connections", item: 1, warm: 0 },
  attack: "500 connections that send nothing, 250 that send half a preface",
  holds: "each is closed when its first bytes have not come in 10 s",
  async run({ gateway: { port } }) {
    const sockets = await Promise.all(Array.from({ length: 750 }, () => open(port)));
    for (const socket of sockets.slice(500)) socket.write(preface.subarray(0, 12));
    const done = await closed(sockets, 12_000);
    return { told: `${done} of 750 closed`, faults: faultsOf({ "some are kept": done < 750 }) };
  },
};

/** Writes one byte to each now and then, until the time is over. */
async function drip(
  stage: Stage,
  sockets: readonly { destroyed: boolean; write(bytes: Uint8Array): unknown }[],
  bytes: Buffer,
  ms: number,
) {
  const end = performance.now() + ms;
  for (let at = 0; at < bytes.length && performance.now() < end && !stage.signal.aborted; at++) {
    for (const socket of sockets) if (!socket.destroyed) socket.write(bytes.subarray(at, at + 1));
    await delay(50);
  }
}

const slowHeads: Row = {
  ...{ name: "heads-byte-by-byte", item: 1 },
  attack: "300 connections whose heads come a byte at a time, 100 that stop in the midst of one",
  holds: "nobody else waits, and nothing is left when they go",
  async run(stage) {
    const { port, keys } = stage.gateway;
    const sockets = await Promise.all(Array.from({ length: scaled(stage, 400) }, () => open(port)));
    const head = post(chatPath, keys.poor, "{}");
    const stops = Math.floor(sockets.length / 4);
    for (const socket of sockets.slice(0, stops)) socket.write(head.subarray(0, 60));
    await drip(stage, sockets.slice(stops), head, stage.ms);
    for (const socket of sockets) socket.destroy();
    return { told: `${sockets.length} connections`, faults: [] };
  },
};

const slowBodies: Row = {
  ...{ name: "bodies-byte-by-byte", item: 1, warm: 0 },
  attack: "200 bodies that come a byte at a time, over HTTP/1.1 and HTTP/2",
  holds: "each is refused with 408 after `body_timeout_seconds`",
  async run(stage) {
    const { port, keys } = stage.gateway;
    const body = chat("calm", "x".repeat(200));
    const bytes = post(chatPath, keys.rich, body);
    const ones = await Promise.all(Array.from({ length: 150 }, () => open(port)));
    const twos = await Promise.all(Array.from({ length: 50 }, () => openH2(port)));
    let answers = "";
    for (const socket of ones) {
      socket.on("data", (piece: Buffer) => (answers += piece.toString("latin1", 0, 12)));
      socket.write(bytes.subarray(0, bytes.length - body.length + 1));
    }
    for (const { socket } of twos) socket.write(headers(1, postFields(chatPath, keys.rich)));
    const ms = bounds.bodySeconds * 1000 + slackMs;
    await drip(stage, ones, Buffer.alloc(200, "a"), ms);
    const one = answers.split("HTTP/1.1 408").length - 1;
    const two = twos.filter(({ statuses }) => statuses.get(1) === 408).length;
    for (const socket of [...ones, ...twos.map((client) => client.socket)]) socket.destroy();
    const told = `408 for ${one} of 150 and ${two} of 50`;
    return { told, faults: faultsOf({ "bodies are waited for": one < 150 || two < 50 }) };
  },
};

const stalled = ({ gateway: { port, keys } }: Stage, count: number, version: 1 | 2) =>
  Promise.all(
    Array.from({ length: count }, async () => {
      const body = chat("long", "48", { stream: true });
      if (version === 1) {
        const socket = (await open(port)).pause();
        socket.write(post(chatPath, keys.rich, body));
        return socket;
      }
      const { socket } = await openH2(port, { window: 0, reads: false });
      socket.write(Buffer.concat([headers(1, postFields(chatPath, keys.rich)), data(1, Buffer.from(body))]));
      return socket;
    }),
  );

const running = async (stage: Stage) => {
  const series = await scrape(stage.gateway.metricsUrl);
  return series.get('model_gateway_requests_running{form="stream"}') ?? 0;
};

const stalledRow = (version: 1 | 2, name: string, attack: string): Row => ({
  ...{ name, attack, item: 1, warm: 0 },
  holds: "a reader that stalls is cut after `stalled_reader_seconds`: charged, its place and hold free",
  async run(stage) {
    const sockets = await stalled(stage, 20, version);
    await delay(700);
    const begun = await running(stage);
    const end = performance.now() + bounds.stalledSeconds * 1000 + slackMs;
    let left = begun;
    while (left > 0 && performance.now() < end) {
      await delay(200);
      left = await running(stage);
    }
    for (const socket of sockets) socket.destroy();
    const told = `${begun} streams, ${left} still running after ${bounds.stalledSeconds} s`;
    return { told, faults: faultsOf({ "streams go on": left > 0, "no stream ran": begun === 0 }) };
  },
});

const slowReaders: Row = {
  ...{ name: "slow-readers", item: 1, warm: 0 },
  attack: "readers that are slow, but read: for longer than a stalled one is waited for",
  holds: "each is served to the end",
  async run(stage) {
    const { port, keys } = stage.gateway;
    const body = chat("long", "24", { stream: true });
    const [one, two] = [await open(port), await openH2(port, { window: 2 ** 20, reads: false })];
    let [bytes, isWhole] = [0, false];
    one.on("data", (piece: Buffer) => {
      bytes += piece.length;
      isWhole ||= piece.includes("data: [DONE]");
    });
    one.write(post(chatPath, keys.rich, body));
    two.socket.write(Buffer.concat([headers(1, postFields(chatPath, keys.rich)), data(1, Buffer.from(body))]));
    // Some megabytes a second, with pauses.
    for (let turn = 0; turn < 40 && !(isWhole && two.ended.has(1)) && !stage.signal.aborted; turn++) {
      one.pause();
      await delay(300);
      two.socket.write(Buffer.concat([windowUpdate(0, 2 ** 20), windowUpdate(1, 2 ** 20)]));
      one.resume();
      await delay(8);
    }
    const isWhole2 = two.ended.has(1) && (two.received.get(1) ?? 0) > 24 * 2 ** 20;
    one.destroy();
    two.socket.destroy();
    const told = `${(bytes / 2 ** 20).toFixed(0)} MB and ${((two.received.get(1) ?? 0) / 2 ** 20).toFixed(0)} MB`;
    return { told, faults: faultsOf({ "HTTP/1.1 is cut": !isWhole, "HTTP/2 is cut": !isWhole2 }) };
  },
};

const pipelining: Row = {
  ...{ name: "pipelining-without-reading", item: 1 },
  attack: "20 connections with 2,000 requests each, none of whose answers is read",
  holds: "no more is begun than its answers have room; all is freed when they go",
  async run(stage) {
    const { port, keys } = stage.gateway;
    const request = post(chatPath, keys.rich, chat("calm", "x"));
    const requests = Buffer.concat(Array.from({ length: scaled(stage, 2_000) }, () => request));
    const sockets = await Promise.all(Array.from({ length: 20 }, async () => (await open(port)).pause()));
    for (const socket of sockets) socket.write(requests);
    await delay(stage.ms);
    for (const socket of sockets) socket.resetAndDestroy();
    return { told: `${sockets.length} connections`, faults: [] };
  },
};

const zeroWindows: Row = {
  ...{ name: "zero-windows", item: 3, warm: 0 },
  attack: "4 connections with 100 streams each, whose windows stay shut",
  holds: "their calls are cut as those of stalled readers; others are served",
  async run(stage) {
    const { port, keys } = stage.gateway;
    const body = Buffer.from(chat("long", "1", { stream: true }));
    const clients = await Promise.all(Array.from({ length: 4 }, () => openH2(port, { window: 0, reads: false })));
    for (const { socket } of clients) {
      const streams = Array.from({ length: 100 }, (_, i) => i * 2 + 1);
      for (const id of streams)
        socket.write(Buffer.concat([headers(id, postFields(chatPath, keys.rich)), data(id, body)]));
      socket.write(windowUpdate(0, 2 ** 20));
    }
    await delay(bounds.stalledSeconds * 1000 + slackMs);
    const left = await running(stage);
    const statuses = tally(clients.flatMap((client) => [...client.statuses.values()]));
    for (const { socket } of clients) socket.destroy();
    return { told: `${statuses}; ${left} still running`, faults: faultsOf({ "streams go on": left > 0 }) };
  },
};

export const silentConnections: readonly Row[] = [
  idle,
  silent,
  slowHeads,
  slowBodies,
  stalledRow(1, "stalled-readers-http1", "20 clients of HTTP/1.1 that never read their stream"),
  stalledRow(2, "stalled-readers-h2", "20 clients of HTTP/2 that never read their stream"),
  slowReaders,
  pipelining,
  zeroWindows,
];
