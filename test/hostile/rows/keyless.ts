/** Work that nobody needs a key for: questions of reflection, sign-ins, pages. */
import { setTimeout as delay } from "node:timers/promises";
import { create, toBinary } from "@bufbuild/protobuf";
import { ServerReflectionRequestSchema } from "../../../gen/grpc/reflection/v1/reflection_pb.ts";
import { data, type Fields, headers, openH2 } from "../h2.ts";
import { ask, inTurns, open, tally } from "../raw.ts";
import { faultsOf, type Row, scaled } from "../row.ts";

const reflectionFields: Fields = [
  [":method", "POST"],
  [":scheme", "http"],
  [":path", "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"],
  [":authority", "h"],
  ["content-type", "application/grpc"],
  ["te", "trailers"],
];

function question(symbol: string): Buffer {
  const value = { case: "fileContainingSymbol" as const, value: symbol };
  const message = toBinary(
    ServerReflectionRequestSchema,
    create(ServerReflectionRequestSchema, { messageRequest: value }),
  );
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}

const reflection: Row = {
  ...{ name: "reflection-questions", item: 3, short: true },
  attack: "8 connections that ask reflection for the largest file again and again, without a key",
  holds: "an answer is made once; a connection's questions are answered one in a turn",
  async run(stage) {
    const { port } = stage.gateway;
    const questions = Buffer.concat(Array.from({ length: 200 }, () => question("modelgateway.v1.OperatorService")));
    const end = performance.now() + stage.ms;
    let bytes = 0;
    const one = async () => {
      const client = await openH2(port, { window: 2 ** 30 });
      client.socket.write(headers(1, reflectionFields));
      while (performance.now() < end && !client.socket.destroyed && !client.ended.has(1)) {
        client.socket.write(data(1, questions, false));
        await delay(50);
      }
      bytes += client.received.get(1) ?? 0;
      client.socket.destroy();
    };
    await Promise.all(Array.from({ length: 8 }, one));
    return { told: `${(bytes / 2 ** 20).toFixed(0)} MB answered`, faults: [] };
  },
};

const signIns: Row = {
  ...{ name: "sign-ins", item: 6 },
  attack: "120 sign-ins at once, each from an address of its own",
  holds: "passwords are hashed a few at a time; beyond a queue of them 429",
  async run(stage) {
    const { port } = stage.gateway;
    const statuses: number[] = [];
    await inTurns(scaled(stage, 120), 100, stage.signal, async (i) => {
      const body = JSON.stringify({ email: `nobody-${i}@example.com`, password: "x".repeat(20) });
      const localAddress = `127.${1 + (i % 200)}.${1 + Math.floor(i / 200)}.7`;
      const path = "/modelgateway.v1.SessionService/SignIn";
      const extra = { "connect-protocol-version": "1" };
      statuses.push((await ask(port, { path, body, localAddress, headers: extra, timeoutMs: 20_000 })).status);
    });
    return {
      told: tally(statuses),
      faults: faultsOf({ "a 500, or no answer": statuses.some((status) => status === 500 || status === 0) }),
    };
  },
};

const pages = (name: string, attack: string, reads: boolean): Row => ({
  ...{ name, attack, item: 3, short: !reads },
  holds: "a connection's next requests are read once those before them are answered; all is freed when they go",
  async run(stage) {
    const { port } = stage.gateway;
    const paths = ["/openapi.json", "/docs/configuration", "/llms.txt", "/healthz", "/v1/nothing"];
    const requests = paths.map((path) => `GET ${path} HTTP/1.1\r\nhost: h\r\n\r\n`).join("");
    const opened = Array.from({ length: 20 }, async () => {
      const socket = await open(port);
      return reads ? socket.resume() : socket.pause();
    });
    const sockets = await Promise.all(opened);
    for (const socket of sockets) socket.write(requests.repeat(scaled(stage, 400)));
    await delay(stage.ms);
    for (const socket of sockets) socket.resetAndDestroy();
    return { told: `${sockets.length} connections`, faults: [] };
  },
});

const pagesUnread = pages(
  "pages-unread",
  "20 connections that ask for pages and probes 2,000 times each, without a key, and read none of them",
  false,
);
const pagesRead = pages("pages-read", "the same, and they read what they get", true);

const streams: Row = {
  ...{ name: "h2-pages", item: 3 },
  attack: "8 connections of HTTP/2 with 200 streams at a time that ask for pages, without a key",
  holds: "streams begin in turns, connections in rotation; pages are made once",
  async run(stage) {
    const { port } = stage.gateway;
    const paths = ["/openapi.json", "/docs/configuration", "/llms.txt", "/healthz", "/v1/nothing"];
    const end = performance.now() + stage.ms;
    const goesOn = () => performance.now() < end && !stage.signal.aborted;
    let asked = 0;
    const one = async () => {
      const client = await openH2(port, { window: 2 ** 24 });
      for (let id = 1; goesOn() && !client.socket.destroyed; ) {
        const open = (id - 1) / 2 - client.ended.size;
        for (let more = open; more < 200; more++, id += 2, asked++)
          client.socket.write(headers(id, fieldsOf(paths[asked % paths.length] as string), true));
        await delay(5);
      }
      client.socket.destroy();
    };
    await Promise.all(Array.from({ length: 8 }, one));
    return { told: `${asked} requests`, faults: [] };
  },
};

const fieldsOf = (path: string): Fields => [
  [":method", "GET"],
  [":scheme", "http"],
  [":path", path],
  [":authority", "h"],
];

export const keyless: readonly Row[] = [reflection, signIns, pagesUnread, pagesRead, streams];
