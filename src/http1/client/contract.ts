/**
 * The contract of a client for one HTTP/1.1 server. `pool.ts` implements it; `providers/upstream/undici.ts` does so over
 * undici.
 */
import type { Fields } from "../fields.ts";
import type { Body } from "../write-message.ts";

/** A request to the server. The client adds `host`, `connection` and `content-length`. */
export interface UpstreamRequest {
  readonly method: "GET" | "POST";
  /** The request target: a path that starts with `/`, with its query. */
  readonly path: string;
  /** Header lines that many requests share, written once by `writeFields`. They precede `fields`. */
  readonly common?: string | undefined;
  readonly fields: Readonly<Fields>;
  /** The whole body. `undefined` sends none. */
  readonly body?: Body | undefined;
}

/** PhaseTimeouts is how long each phase of an exchange may take, in milliseconds. `Infinity` sets no bound. */
export interface PhaseTimeouts {
  /** Until there is a connection. */
  readonly connectMs: number;
  /** From sending the request to the head of the reply. Interim replies do not extend it. */
  readonly firstByteMs: number;
  /** Between two pieces of the reply. It does not run while the request is paused. */
  readonly idleMs: number;
}

/** Header fields by their lower-case names. A field that came several times is a list. */
export type ReplyFields = Readonly<Record<string, string | string[] | undefined>>;

/** A request on its way, as its sender controls it. It must not be used after `onEnd`, `onError` or `onTimeout`. */
export interface SentRequest {
  readonly isPaused: boolean;
  /** Stops reading the reply, so that the server is slowed down. `onBody` may still be called with what has been read. */
  pause(): void;
  /** Reads on. The idle time-out starts anew. */
  resume(): void;
  /** Breaks the exchange off at once. The handler is not called any more. */
  abort(): void;
}

/** Receives what becomes of a request. Exactly one of `onEnd`, `onError` and `onTimeout` is called last. */
export interface ReplyHandler {
  /** Reports that the caller has gone. The client reads it before it sends; a cancelled request is not sent. */
  readonly isCancelled: boolean;
  /** Called when there is a connection, just before the request is written. A request that fails without it never left. */
  onSent(request: SentRequest): void;
  /** Called once with the final reply; interim replies (1xx) are dropped. */
  onHead(status: number, fields: ReplyFields): void;
  /** Called with what has come of the body: at least one piece, none empty. The pieces belong to the handler. */
  onBody(pieces: Buffer[]): void;
  /** Called when the reply is complete. Trailers are dropped. */
  onEnd(): void;
  /** Called when connecting, sending or reading fails. `error.code` is Node's where the system refused the connection. */
  onError(error: Error): void;
  /**
   * Called when the server has reset the connection while the request is paused, again and again until it is resumed: what came before may
   * still be read. A client that cannot tell never calls it.
   */
  onReset?(error: Error): void;
  /** Called when a phase took longer than its time-out, at most half a second late. The exchange has been broken off. */
  onTimeout(phase: keyof PhaseTimeouts): void;
}

/** Sends requests to one server, each on a connection of its own. Connections are kept for later requests. */
export interface UpstreamClient {
  /** Sends a request. Throws TypeError for a path or a field value with forbidden characters; calls `handler` for all else. */
  send(request: UpstreamRequest, handler: ReplyHandler): void;
  /**
   * Keeps no connection any more. Resolves when the running requests have ended and every connection is closed. A request that is sent
   * later, by a call that began before, has a connection of its own, which ends with it.
   */
  close(): Promise<void>;
}

/** Creates a client of the server at `origin`, `http://…` or `https://…`. */
export type CreateUpstreamClient = (origin: string, timeouts: PhaseTimeouts) => UpstreamClient;

/** The server closed the connection. That completes a reply whose end is the connection's end, and fails any other. */
export class ClosedError extends Error {
  readonly code = "ECONNRESET";
}
