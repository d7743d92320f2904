/** Connections that end: by FIN, by a reset, half, with their process; many of them, and more than there are descriptors. */
import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { endChild } from "../canary.ts";
import {
  data,
  type Fields,
  frame,
  type H2Client,
  headers,
  openH2,
  postFields,
  preface,
  settings,
  types,
} from "../h2.ts";
import { ask, inTurns, isClosedWithin, open, post, tally } from "../raw.ts";
import { chat, chatPath, faultsOf, type Outcome, type Row, type Stage, scaled } from "../row.ts";

const hello = Buffer.concat([preface, settings()]);

/** Opens so many HTTP/2 connections one after another, waits for each one's first answer, and ends it. */
async function helloAndEnd(stage: Stage, count: number, end: "fin" | "rst"): Promise<number> {
  return inTurns(scaled(stage, count), 20, stage.signal, async () => {
    const socket = await open(stage.gateway.port);
    const answered = once(socket, "data", { signal: AbortSignal.timeout(stage.patienceMs) });
    socket.write(hello);
    await answered;
    if (end === "rst") socket.resetAndDestroy();
    else socket.end();
  });
}

async function newCallers(stage: Stage): Promise<readonly number[]> {
  const { port, keys } = stage.gateway;
  const { patienceMs: timeoutMs } = stage;
  const calls = Array.from({ length: 10 }, () =>
    ask(port, { path: chatPath, key: keys.rich, body: chat("calm", "new"), timeoutMs }),
  );
  return (await Promise.all(calls)).map(({ status }) => status);
}

const holdsEnded = "a connection that is over is closed, whichever way it ends";

const fin: Row = {
  ...{ name: "h2-fin", item: 1, short: true, attack: "2,000 HTTP/2 connections that end by FIN", holds: holdsEnded },
  run: async (stage) => ({ told: `${await helloAndEnd(stage, 2_000, "fin")} connections`, faults: [] }),
};

const rst: Row = {
  ...{ name: "h2-rst", item: 1, attack: "1,000 HTTP/2 connections that end by a reset", holds: holdsEnded },
  run: async (stage) => ({ told: `${await helloAndEnd(stage, 1_000, "rst")} connections`, faults: [] }),
};

const few: Row = {
  ...{ name: "h2-fin-400-descriptors", item: 1, warm: 0, openFiles: 400 },
  attack: "450 HTTP/2 connections that end by FIN, of a gateway with 400 descriptors",
  holds: "new callers are served",
  async run(stage) {
    const done = await helloAndEnd(stage, 450, "fin");
    await delay(200);
    const statuses = await newCallers(stage);
    const told = `${done} connections; ten new callers: ${tally(statuses)}`;
    return { told, faults: faultsOf({ "new callers are not served": statuses.some((status) => status !== 200) }) };
  },
};

const grpcFields = (path: string): Fields => [
  ...[
    [":method", "POST"] as const,
    [":scheme", "http"] as const,
    [":path", path] as const,
    [":authority", "h"] as const,
  ],
  ...[["content-type", "application/grpc"] as const, ["te", "trailers"] as const],
];

const keyless: Row = {
  ...{ name: "keyless-streams-400-descriptors", item: 1, short: true, openFiles: 400 },
  attack: "350 connections that follow health checks or reflect, without a key, of a gateway with 400 descriptors",
  holds: "what no key was admitted for makes room; new callers are served",
  async run(stage) {
    const { port } = stage.gateway;
    const clients: H2Client[] = [];
    const done = await inTurns(scaled(stage, 350), 10, stage.signal, async (i) => {
      const client = await openH2(port);
      clients.push(client);
      const isWatch = i % 2 === 0;
      const path = isWatch
        ? "/grpc.health.v1.Health/Watch"
        : "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";
      const request = headers(1, grpcFields(path));
      client.socket.write(isWatch ? Buffer.concat([request, data(1, Buffer.alloc(5))]) : request);
    });
    await delay(200);
    const statuses = await newCallers(stage);
    for (const { socket } of clients) socket.destroy();
    const told = `${done} connections; ten new callers: ${tally(statuses)}`;
    return { told, faults: faultsOf({ "new callers are not served": statuses.some((status) => status !== 200) }) };
  },
};

/** Sends the beginning of a stream's request. */
const streamRequest = (key: string, model: string, text = "x") => {
  const body = Buffer.from(chat(model, text, { stream: true }));
  return Buffer.concat([headers(1, postFields(chatPath, key)), data(1, body)]);
};

const halfClosed: Row = {
  ...{ name: "h2-half-closed-streams", item: 1, short: true },
  attack: "100 HTTP/2 connections that send FIN while a stream is open",
  holds: "the stream ends with its connection: hold, place and descriptor are free",
  async run(stage) {
    const { port, keys } = stage.gateway;
    const clients: H2Client[] = [];
    await inTurns(scaled(stage, 100), 5, stage.signal, async () => {
      const client = await openH2(port);
      client.socket.write(streamRequest(keys.rich, "quiet"));
      clients.push(client);
      await until(() => client.received.size > 0, stage.patienceMs);
    });
    const begun = clients.filter(({ received }) => received.size > 0).length;
    for (const { socket } of clients) socket.end();
    return { told: `${begun} streams`, faults: faultsOf({ "no stream began": begun === 0 }) };
  },
};

/** Waits until something holds, for a time at most. */
async function until(holds: () => boolean, ms: number): Promise<void> {
  for (const end = performance.now() + ms; !holds() && performance.now() < end; ) await delay(10);
}

const killed: Row = {
  ...{ name: "killed-clients", item: 1 },
  attack: "a process with 30 HTTP/2 and 30 HTTP/1.1 streams is killed in their midst",
  holds: "hold, place and descriptor of each are free",
  async run(stage) {
    const { port, keys } = stage.gateway;
    const child = fork(join(import.meta.dirname, "../streaming-process.ts"), [
      ...[String(port), keys.rich, String(scaled(stage, 30))],
    ]);
    const [count] = await once(child, "message", { signal: stage.signal });
    await endChild(child);
    return { told: `${count} streams`, faults: [] };
  },
};

const many: Row = {
  ...{
    name: "connects-in-a-row",
    item: 1,
    attack: "10,000 connections that say nothing and end at once",
    holds: holdsEnded,
  },
  async run(stage) {
    const done = await inTurns(scaled(stage, 10_000), 100, stage.signal, async (i) => {
      const socket = await open(stage.gateway.port);
      if (i % 2 === 0) socket.end();
      else socket.resetAndDestroy();
    });
    return { told: `${done} connections`, faults: [] };
  },
};

const perCall: Row = {
  ...{ name: "rpc-connection-per-call", item: 1, short: true },
  attack: "300 Connect and gRPC calls over HTTP/2, each on a connection of its own that ends by FIN",
  holds: holdsEnded,
  async run(stage) {
    const { port, keys } = stage.gateway;
    const statuses: number[] = [];
    await inTurns(scaled(stage, 300), 10, stage.signal, async (i) => {
      const client = await openH2(port);
      const path = "/modelgateway.v1.AccountService/GetAccount";
      const fields = postFields(path, keys.rich).map(([name, value]) =>
        name === "content-type" && i % 2 === 0 ? ([name, "application/grpc"] as const) : ([name, value] as const),
      );
      const body = i % 2 === 0 ? Buffer.alloc(5) : Buffer.from("{}");
      client.socket.write(Buffer.concat([headers(1, fields), data(1, body)]));
      await until(() => client.ended.has(1), stage.patienceMs);
      statuses.push(client.statuses.get(1) ?? 0);
      // Clients say goodbye before they close, or do not.
      if (i % 3 === 0) client.socket.write(frame(types.goAway, 0, 0, Buffer.alloc(8)));
      client.socket.end();
    });
    return { told: tally(statuses), faults: faultsOf({ "calls fail": statuses.some((status) => status !== 200) }) };
  },
};

const keptUp: Row = {
  ...{ name: "keep-alive-probes", item: 1, short: true, warm: 0 },
  attack: "clients that vanish without a packet",
  holds: "the system probes every silent connection, so that it learns of it",
  async run(stage): Promise<Outcome> {
    const { port, keys } = stage.gateway;
    const [idle, idle2, streaming] = [await open(port), await openH2(port), await openH2(port)];
    idle.write(post(chatPath, keys.rich, chat("calm", "x")));
    idle2.socket.write(streamRequest(keys.rich, "calm"));
    streaming.socket.write(streamRequest(keys.rich, "quiet"));
    const sockets = {
      "an idle one of HTTP/1.1": idle,
      "an idle one of HTTP/2": idle2.socket,
      "a stream": streaming.socket,
    };
    const unprobed = async () => {
      const timers = await timersOf(port);
      return Object.entries(sockets).filter(([, { localPort = 0 }]) => timers.get(localPort) !== keepAliveTimer);
    };
    // While something is under way the system runs another timer.
    for (const end = performance.now() + stage.patienceMs; performance.now() < end; await delay(100)) {
      if ((await unprobed()).length === 0) break;
    }
    const left = await unprobed();
    for (const socket of Object.values(sockets)) socket.destroy();
    return { told: `${3 - left.length} of 3 kinds`, faults: left.map(([kind]) => `${kind} is not probed`) };
  },
};

const keepAliveTimer = "02";

/** Which timer the system runs for each of the gateway's connections, by the client's port (/proc/net/tcp). */
async function timersOf(port: number): Promise<ReadonlyMap<number, string>> {
  const { readFile } = await import("node:fs/promises");
  const own = `0100007F:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  const lines = (await readFile("/proc/net/tcp", "utf8")).split("\n").map((line) => line.trim().split(/\s+/));
  const ours = lines.filter(([, local]) => local === own);
  return new Map(
    ours.map(([, , remote = "", , , timer = ""]) => [Number.parseInt(remote.slice(9), 16), timer.slice(0, 2)]),
  );
}

const junk: Row = {
  ...{ name: "other-protocols", item: 1, short: true },
  attack: "400 connections that speak TLS, ask for an upgrade, send half a preface or noise",
  holds: "each is answered or closed, and none is kept",
  async run(stage) {
    const { port, keys } = stage.gateway;
    const upgrade = "connection: Upgrade, HTTP2-Settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABkAAQAAP__\r\n";
    const kinds: readonly Uint8Array[] = [
      Buffer.from("16030100c8010000c403030000000000000000".padEnd(400, "0"), "hex"),
      post(chatPath, keys.poor, "{}", upgrade),
      Buffer.from("PRI * HTTP/1.1\r\n\r\n"),
      Buffer.from("PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n"),
      Buffer.concat([preface, Buffer.alloc(64, 0xff)]),
      Buffer.concat([preface, settings(), frame(types.data, 0, 0, Buffer.alloc(10))]),
      Buffer.from("GET / HTTP/9.9\r\n\r\n"),
      Buffer.alloc(300, 0),
    ];
    let kept = 0;
    const done = await inTurns(scaled(stage, 400), 20, stage.signal, async (i) => {
      const socket = await open(port);
      socket.resume().write(kinds[i % kinds.length] as Uint8Array);
      await delay(20);
      // An upgrade that is passed over is answered, and its connection kept as any.
      if (i % kinds.length !== 1 && !(await isClosedWithin(socket, stage.patienceMs))) kept++;
      socket.end();
    });
    return { told: `${done} connections, ${kept} kept`, faults: faultsOf({ "some are kept open": kept > 0 }) };
  },
};

export const endedConnections: readonly Row[] = [
  fin,
  rst,
  few,
  keyless,
  halfClosed,
  killed,
  many,
  perCall,
  keptUp,
  junk,
];
