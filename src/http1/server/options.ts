/** Options are what the connections of clients are served with. */
import type { Socket } from "node:net";
import type { Deadlines } from "../../runtime/time/deadlines.ts";
import type { KeepAlive, PlainAnswer } from "./answer.ts";
import type { PlainRequest } from "./request.ts";

export interface ServeOptions {
  /** Returns the function that answers a request; undefined for a request that Node's server is to answer. */
  readonly serve: (request: PlainRequest) => ((answer: PlainAnswer) => void) | undefined;
  /** remembersHeads is whether a head that comes again on a connection is known by its bytes, and not read again. Default: true. */
  readonly remembersHeads?: boolean | undefined;
  /** idleMs is how long a connection may be idle, in milliseconds. */
  readonly idleMs: number;
  readonly keepAlive: KeepAlive;
  /** Closes idle connections. A socket's own timer would be reset by each piece of each answer. */
  readonly deadlines: Deadlines;
  /** Called when a connection is closed or handed over. */
  readonly onOver: (connection: object) => void;
  /** Takes a connection over. What has not been served is unshifted to the socket. */
  readonly handOver: (socket: Socket) => void;
}
