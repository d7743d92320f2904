/**
 * An upstream that dies and comes back: dead, it listens no more, and has reset every connection that it had. Alive, it
 * answers a whole call after a moment, and a stream in pieces.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { eventStream } from "../support/scripted-upstream.ts";
import { chatAnswer, chatChunk, done, openaiFrames, usageChunk } from "../support/vendors.ts";

export interface MortalUpstream {
  readonly baseUrl: string;
  /** How many requests it has taken, those included that it never answered. */
  readonly received: number;
  /** How many streams are in the middle of what they say. */
  readonly streaming: number;
  die(): Promise<void>;
  revive(): Promise<void>;
  /** From now on it takes every request, and resets the connection. */
  refuse(): void;
  close(): Promise<void>;
}

const pieces = 8;
const pauseMs = 20;

export async function startMortalUpstream(): Promise<MortalUpstream> {
  const sockets = new Set<Socket>();
  let received = 0;
  let streaming = 0;
  let refuses = false;
  let server: Server | undefined;

  function take(req: IncomingMessage, res: ServerResponse): void {
    received++;
    if (refuses) req.socket.resetAndDestroy();
    else answer(req, res).catch(() => res.destroy());
  }

  async function answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const { stream } = JSON.parse(Buffer.concat(await req.toArray()).toString()) as { stream?: boolean };
    await delay(pauseMs);
    if (!stream) {
      res.writeHead(200, { "content-type": "application/json" }).end(whole);
      return;
    }
    res.writeHead(200, eventStream).write(opening);
    res.once("close", () => streaming--);
    streaming++;
    for (let i = 0; i < pieces && res.writable; i++) {
      await delay(pauseMs);
      res.write(piece);
    }
    res.end(ending);
  }

  async function listen(port: number): Promise<number> {
    const made = createServer({ keepAliveTimeout: 60_000 }, take);
    made.on("connection", (socket: Socket) => {
      sockets.add(socket.setNoDelay());
      socket.once("close", () => sockets.delete(socket));
    });
    await new Promise<void>((resolve, reject) => made.once("error", reject).listen(port, "127.0.0.1", resolve));
    server = made;
    return (made.address() as AddressInfo).port;
  }

  async function die(): Promise<void> {
    const dying = server;
    if (!dying) return;
    server = undefined;
    const closed = new Promise((resolve) => dying.close(resolve));
    for (const socket of sockets) socket.resetAndDestroy();
    await closed;
  }

  const port = await listen(0);
  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    get received() {
      return received;
    },
    get streaming() {
      return streaming;
    },
    die,
    async revive() {
      await listen(port);
    },
    refuse() {
      refuses = true;
    },
    close: die,
  };
}

const whole = JSON.stringify(chatAnswer({ content: "red green blue" }));
const opening = openaiFrames(chatChunk({ role: "assistant", content: "" }));
const piece = openaiFrames(chatChunk({ content: " red" }));
const ending = openaiFrames(chatChunk({}, "stop"), usageChunk()) + done;
