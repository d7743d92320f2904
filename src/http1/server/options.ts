/** What a client's connection is served with. */
import type { Socket } from "node:net";
import type { Deadlines } from "../../runtime/deadlines.ts";
import type { KeepAlive, PlainAnswer } from "./answer.ts";
import type { PlainRequest } from "./request.ts";

export interface ServeOptions {
  /** Returns what answers a request; undefined where it is for somebody else. */
  readonly serve: (request: PlainRequest) => ((answer: PlainAnswer) => void) | undefined;
  /** Whether a head that comes again on a connection is known by its bytes, and not read again. Default: true. */
  readonly remembersHeads?: boolean | undefined;
  /** How long a connection may be idle, in milliseconds. */
  readonly idleMs: number;
  readonly keepAlive: KeepAlive;
  /** Cuts those that are idle for too long. A timer of the socket's own would be set anew by each piece of each answer. */
  readonly deadlines: Deadlines;
  /** Told when it is gone or handed over. */
  readonly onOver: (connection: object) => void;
  /** Takes the connection, whose unread bytes stand in the socket. */
  readonly handOver: (socket: Socket) => void;
}
