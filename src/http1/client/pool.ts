/**
 * The connections to one server: one for each request that runs there. Each is kept for later requests for as long as the server
 * keeps it.
 *
 * A request takes the connection that was used last, so that connections which are not needed for a while time out. Requests are
 * sent at the end of the turn of the event loop in which they were made. So writes to a server go out together; and what its
 * connections have brought has been read by then, so that one which has ended is not taken. For the same reason a connection
 * rests until the turn after its reply: what follows a reply unasked shows meanwhile, and closes it.
 */
import { createDeadlines } from "../../runtime/time/deadlines.ts";
import { sendAtTurnEnd } from "../../runtime/turn-end.ts";
import { Connection, type ConnectionOptions, type WrittenRequest } from "./connection.ts";
import { type Connector, createConnector } from "./connector.ts";
import type { PhaseTimeouts, ReplyHandler, UpstreamClient, UpstreamRequest } from "./contract.ts";
import { createHeadWriter } from "./request-head.ts";
import { mayWriteNow } from "./write-turns.ts";

/**
 * createConnectionPool creates a pool of connections to the server at `origin`. With `remembersHeads` a head that comes again on a
 * connection is known by its bytes, and not read again.
 */
export function createConnectionPool(origin: string, timeouts: PhaseTimeouts, remembersHeads = true): UpstreamClient {
  const writeHead = createHeadWriter(new URL(origin).host);
  return new ConnectionPool(createConnector(origin), writeHead, { timeouts, remembersHeads });
}

type Settings = Pick<ConnectionOptions, "timeouts" | "remembersHeads">;

class ConnectionPool implements UpstreamClient {
  readonly #writeHead: (request: UpstreamRequest) => string;
  readonly #connectionOptions: ConnectionOptions;
  readonly #open = new Set<Connection>();
  readonly #idle: Connection[] = [];
  /** The connections whose replies ended in this turn. */
  #resting: Connection[] = [];
  /** queued is what is sent at the end of this turn. */
  #queued: WrittenRequest[] = [];
  #isTurnEndScheduled = false;
  #closing: PromiseWithResolvers<void> | undefined;

  constructor(connect: Connector, writeHead: (request: UpstreamRequest) => string, settings: Settings) {
    this.#writeHead = writeHead;
    const [onIdle, onClosed] = [this.#onIdle, this.#onClosed];
    this.#connectionOptions = { ...settings, connect, deadlines: createDeadlines(), onIdle, onClosed };
  }

  send(request: UpstreamRequest, handler: ReplyHandler): void {
    this.#queued.push({ head: this.#writeHead(request), body: request.body, handler });
    this.#scheduleTurnEnd();
  }

  close(): Promise<void> {
    this.#closing ??= Promise.withResolvers<void>();
    for (const connection of [...this.#idle, ...this.#resting]) connection.abort();
    this.#resolveIfClosed();
    return this.#closing.promise;
  }

  #scheduleTurnEnd(): void {
    if (this.#isTurnEndScheduled) return;
    this.#isTurnEndScheduled = true;
    sendAtTurnEnd(this.#endTurn);
  }

  readonly #endTurn = (): void => {
    this.#isTurnEndScheduled = false;
    this.#sendQueued(performance.now());
    this.#keepRested();
    if (this.#queued.length > 0) this.#scheduleTurnEnd();
    this.#resolveIfClosed();
  };

  /**
   * Sends what is queued. A request that a resting connection could take waits a turn for it, which is quicker than connecting. A long body
   * waits where enough of others were written in this turn.
   */
  #sendQueued(now: number): void {
    const sending = this.#queued;
    this.#queued = [];
    for (const request of sending) {
      if (request.handler.isCancelled) continue;
      if (this.#idle.length > 0 && !mayWriteNow(request.body)) {
        this.#queued.push(request);
        continue;
      }
      const connection = this.#takeIdle(now);
      if (connection) connection.send(request);
      else if (this.#queued.length < this.#resting.length) this.#queued.push(request);
      else this.#connectFor(request);
    }
  }

  #keepRested(): void {
    const rested = this.#resting;
    this.#resting = [];
    for (const connection of rested) {
      if (connection.isWritten) this.#idle.push(connection);
      else connection.abort();
    }
  }

  /** Returns an idle connection that its server still keeps; undefined where there is none. */
  #takeIdle(now: number): Connection | undefined {
    for (let connection = this.#idle.pop(); connection; connection = this.#idle.pop()) {
      if (connection.isKeptAt(now)) return connection;
      connection.abort();
    }
    return undefined;
  }

  #connectFor(request: WrittenRequest): void {
    this.#open.add(new Connection(this.#connectionOptions, request));
  }

  readonly #onIdle = (connection: Connection): void => {
    if (this.#closing) return void connection.abort();
    this.#resting.push(connection);
    this.#scheduleTurnEnd();
  };

  readonly #onClosed = (connection: Connection): void => {
    if (!this.#open.delete(connection)) return;
    for (const list of [this.#idle, this.#resting]) {
      const at = list.indexOf(connection);
      if (at !== -1) list.splice(at, 1);
    }
    this.#resolveIfClosed();
  };

  #resolveIfClosed(): void {
    if (this.#open.size === 0 && this.#queued.length === 0) this.#closing?.resolve();
  }
}
