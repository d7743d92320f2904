/**
 * Pings the client of a WebSocket while it is answered, when it has to read anyway and its library answers pings. A client that
 * answers none of several in a row, and sends nothing else, has disconnected.
 */
import type { WebSocket } from "ws";

/** The most pings that may go unanswered. */
const maxUnanswered = 3;

export class ClientWatch {
  readonly #ws: WebSocket;
  readonly #everyMs: number;
  #timer: NodeJS.Timeout | undefined;
  #unanswered = 0;

  constructor(ws: WebSocket, everyMs: number) {
    this.#ws = ws;
    this.#everyMs = everyMs;
  }

  begin(): void {
    this.#unanswered = 0;
    this.#timer = setInterval(this.#check, this.#everyMs).unref();
  }

  /** Notes that bytes have arrived. */
  received(): void {
    this.#unanswered = 0;
  }

  end(): void {
    clearInterval(this.#timer);
  }

  readonly #check = (): void => {
    // A client that is not read from cannot answer. Whether it reads is for `StalledReaders`.
    if (this.#ws.isPaused || this.#ws.readyState !== this.#ws.OPEN) return;
    if (this.#unanswered++ >= maxUnanswered) this.#ws.terminate();
    else this.#ws.ping();
  };
}
