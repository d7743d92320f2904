/**
 * Asks a client of a WebSocket whether it is there, by pings, while it is answered: then it has to read, and its library answers
 * them. Who does not answer several in a row, nor says anything else, is gone.
 */
import type { WebSocket } from "ws";

/** How many pings may go unanswered. */
const mostUnanswered = 3;

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
    this.#timer = setInterval(this.#look, this.#everyMs).unref();
  }

  /** Notes that something has come. */
  received(): void {
    this.#unanswered = 0;
  }

  end(): void {
    clearInterval(this.#timer);
  }

  readonly #look = (): void => {
    // One that is not read from cannot be heard; whether it reads is for others to see.
    if (this.#ws.isPaused || this.#ws.readyState !== this.#ws.OPEN) return;
    if (this.#unanswered++ >= mostUnanswered) this.#ws.terminate();
    else this.#ws.ping();
  };
}
