/** What becomes of a request to a server, as whoever sent it is told. */
import type { Connection } from "./connection.ts";
import type { ReplyFields } from "./reply.ts";

/** How long each part of an exchange may take, in milliseconds. */
export interface PartTimeouts {
  /** For a connection. */
  readonly connectMs: number;
  /** From the request's being sent to the head of the answer. */
  readonly firstByteMs: number;
  /** Between two pieces of the answer. */
  readonly idleMs: number;
}

/** Takes what becomes of a request. Nothing is told after `ended`, `failed` or `late`. */
export interface Replies {
  /** Whether nobody waits for it any more: then it is not sent. */
  readonly isOver: boolean;
  /** There is a connection, and the request goes on its way. */
  sent(connection: Connection): void;
  head(status: number, fields: ReplyFields): void;
  /** Takes what has come of the body, some bytes at least. */
  body(pieces: Buffer[]): void;
  ended(): void;
  failed(error: Error): void;
  /** This part took longer than it may, and the exchange was broken off. */
  late(part: keyof PartTimeouts): void;
}

/** The server has ended the connection, which may end an answer that has no other end. */
export class ClosedError extends Error {
  readonly code = "ECONNRESET";
}
