/**
 * Writes HTTP/2 frames by hand (RFC 9113), for what no client library sends. Fields are written as literals that are never
 * indexed and not compressed, so that a connection has no state but its socket.
 */
import type { Socket } from "node:net";
import { open } from "./raw.ts";

export const preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");

export const types = {
  data: 0,
  headers: 1,
  priority: 2,
  reset: 3,
  settings: 4,
  ping: 6,
  goAway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;

export const flags = { ack: 1, endStream: 1, endHeaders: 4 } as const;

/** Identifiers of settings. */
const headerTableSize = 1;
const initialWindowSize = 4;

const nothing = Buffer.alloc(0);
const headLength = 9;

export function frame(type: number, bits: number, stream: number, payload: Uint8Array = nothing): Buffer {
  const bytes = Buffer.alloc(headLength + payload.length);
  bytes.writeUIntBE(payload.length, 0, 3);
  bytes[3] = type;
  bytes[4] = bits;
  bytes.writeUInt32BE(stream, 5);
  bytes.set(payload, headLength);
  return bytes;
}

export function settings(...pairs: readonly (readonly [id: number, value: number])[]): Buffer {
  const payload = Buffer.alloc(pairs.length * 6);
  for (const [i, [id, value]] of pairs.entries()) {
    payload.writeUInt16BE(id, i * 6);
    payload.writeUInt32BE(value, i * 6 + 2);
  }
  return frame(types.settings, 0, 0, payload);
}

export function windowUpdate(stream: number, bytes: number): Buffer {
  return frame(types.windowUpdate, 0, stream, uint32(bytes));
}

export function reset(stream: number, code = 8): Buffer {
  return frame(types.reset, 0, stream, uint32(code));
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

export type Fields = readonly (readonly [name: string, value: string])[];

const neverIndexed = 0x10;

function fieldBlock(fields: Fields): Buffer {
  const pieces = fields.flatMap(([name, value]) => [Buffer.of(neverIndexed), text(name), text(value)]);
  return Buffer.concat(pieces);
}

/** A string with its length as an integer of a 7 bit prefix (RFC 7541, 5.1). */
function text(value: string): Buffer {
  const bytes = Buffer.from(value, "latin1");
  const length: number[] = [];
  let rest = bytes.length;
  if (rest < 127) length.push(rest);
  else {
    length.push(127);
    for (rest -= 127; rest >= 128; rest >>>= 7) length.push((rest & 127) | 128);
    length.push(rest);
  }
  return Buffer.concat([Buffer.from(length), bytes]);
}

/** The fields of a POST with a key. */
export function postFields(path: string, key: string, ...more: Fields): Fields {
  return [
    [":method", "POST"],
    [":scheme", "http"],
    [":path", path],
    [":authority", "h"],
    ["authorization", `Bearer ${key}`],
    ["content-type", "application/json"],
    ...more,
  ];
}

export function headers(stream: number, fields: Fields, isLast = false): Buffer {
  return frame(types.headers, flags.endHeaders | (isLast ? flags.endStream : 0), stream, fieldBlock(fields));
}

const longestPayload = 16_384;

/** A body in as many frames as it needs, the last of which ends the stream unless said otherwise. */
export function data(stream: number, body: Uint8Array, ends = true): Buffer {
  const frames: Buffer[] = [];
  for (let at = 0; at === 0 || at < body.length; at += longestPayload) {
    const isLast = at + longestPayload >= body.length;
    frames.push(
      frame(types.data, isLast && ends ? flags.endStream : 0, stream, body.subarray(at, at + longestPayload)),
    );
  }
  return Buffer.concat(frames);
}

export interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  readonly payload: Buffer;
}

/** Cuts what comes into frames. */
function onFrames(socket: Socket, take: (frame: Frame) => void): void {
  let rest: Buffer = nothing;
  socket.on("data", (piece: Buffer) => {
    rest = rest.length === 0 ? piece : Buffer.concat([rest, piece]);
    while (rest.length >= headLength) {
      const length = headLength + rest.readUIntBE(0, 3);
      if (rest.length < length) break;
      const [type = 0, bits = 0] = [rest[3], rest[4]];
      const stream = rest.readUInt32BE(5) & 0x7fffffff;
      take({ type, flags: bits, stream, payload: rest.subarray(headLength, length) });
      rest = rest.subarray(length);
    }
  });
}

/** The status in the block of an answer: its first field. The server was told to keep no table of fields. */
function statusOf(fields: Buffer): number {
  // The first block says that the table's size has changed.
  const block = fields.subarray(fields.findIndex((byte) => (byte & 0xe0) !== 0x20));
  const known: Readonly<Record<number, number>> = { 8: 200, 9: 204, 10: 206, 11: 304, 12: 400, 13: 404, 14: 500 };
  const first = block[0] ?? 0;
  if (first & 0x80) return known[first & 0x7f] ?? 0;
  const length = block[1] ?? 0;
  const value = block.subarray(2, 2 + (length & 0x7f));
  return Number(length & 0x80 ? huffmanDigits(value) : value.toString("latin1"));
}

/** Digits have codes of 5 bits up to "2", and of 6 bits from "3" on (RFC 7541, appendix B). */
function huffmanDigits(bytes: Buffer): string {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, "0")).join("");
  let digits = "";
  for (let at = 0; digits.length < 3 && at + 5 <= bits.length; ) {
    const short = Number.parseInt(bits.slice(at, at + 5), 2);
    const isShort = short < 3;
    digits += isShort ? short : Number.parseInt(bits.slice(at, at + 6), 2) - 0x16;
    at += isShort ? 5 : 6;
  }
  return digits;
}

/** Returns the window of streams that a frame of settings has; undefined where it has none. */
function initialWindowIn(settings: Buffer): number | undefined {
  for (let at = 0; at + 6 <= settings.length; at += 6)
    if (settings.readUInt16BE(at) === initialWindowSize) return settings.readUInt32BE(at + 2);
  return undefined;
}

export interface H2Client {
  readonly socket: Socket;
  /** Statuses of the answers so far, by stream. */
  readonly statuses: Map<number, number>;
  /** Streams that ended or were reset by the server. */
  readonly ended: Set<number>;
  /** Bytes of bodies so far, by stream. */
  readonly received: Map<number, number>;
  /** What the server lets be sent: on the connection, over all, and at first on each stream. In bytes. */
  readonly windows: { connection: number; stream: number };
  /** The code of the server's GOAWAY, where one came. */
  readonly goneAway: () => number | undefined;
}

export interface H2Options {
  readonly localAddress?: string;
  /** The window of each stream. Default: 65,535 bytes. */
  readonly window?: number;
  /** Whether windows are opened again as bytes come in. Default: true. */
  readonly reads?: boolean;
  /** How many changes of its settings the server has acknowledged. Default: all. */
  readonly acknowledges?: number;
}

const largestWindow = 0x7fffffff;

/** Opens a connection that answers settings and pings, and keeps its books of what comes. */
export async function openH2(port: number, options: H2Options = {}): Promise<H2Client> {
  const { localAddress, window = 65_535, reads = true, acknowledges = Number.POSITIVE_INFINITY } = options;
  const socket = await open(port, localAddress);
  const [statuses, ended, received] = [new Map<number, number>(), new Set<number>(), new Map<number, number>()];
  const windows = { connection: 65_535, stream: 65_535 };
  let changes = 0;
  let code: number | undefined;
  socket.write(Buffer.concat([preface, settings([headerTableSize, 0], [initialWindowSize, window])]));
  if (reads) socket.write(windowUpdate(0, largestWindow - 65_535));
  onFrames(socket, ({ type, flags: bits, stream, payload }) => {
    if (type === types.settings && !(bits & flags.ack)) {
      windows.stream = initialWindowIn(payload) ?? windows.stream;
      if (changes++ < acknowledges) socket.write(frame(types.settings, flags.ack, 0));
    }
    if (type === types.windowUpdate && stream === 0) windows.connection += payload.readUInt32BE();
    if (type === types.ping && !(bits & flags.ack)) socket.write(frame(types.ping, flags.ack, 0, payload));
    if (type === types.goAway) code = payload.readUInt32BE(4);
    if (type === types.headers && !statuses.has(stream)) statuses.set(stream, statusOf(payload));
    if (type === types.data) received.set(stream, (received.get(stream) ?? 0) + payload.length);
    if (type === types.reset || ((type === types.data || type === types.headers) && bits & flags.endStream)) {
      ended.add(stream);
    } else if (type === types.data && reads && payload.length > 0) socket.write(windowUpdate(stream, payload.length));
  });
  return { socket, statuses, ended, received, windows, goneAway: () => code };
}
