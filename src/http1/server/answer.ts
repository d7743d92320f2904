/**
 * Answers to plain requests, with the interface of Node's: whole in one write with the head, or in chunks, the first of which goes
 * out with the head.
 */
import type { Socket } from "node:net";
import { encodeChunk, encodeLastChunk } from "../chunked.ts";
import { coalesceWrite } from "../coalesce-writes.ts";
import { corkUntilImmediate, corkUntilTick } from "../cork-until-immediate.ts";
import { type Fields, statusLine, writeFields } from "../fields.ts";
import { writeMessage } from "../write-message.ts";

/** HttpAnswer is what the doors use of an answer. Node's `ServerResponse` has it, too. */
export interface HttpAnswer {
  /** Reports that the head can no longer change. */
  readonly headersSent: boolean;
  /** Reports that `end` was called. */
  readonly writableEnded: boolean;
  /** Reports that the reader has to catch up before more is written. */
  readonly writableNeedDrain: boolean;
  writeHead(status: number, fields: Fields): unknown;
  /** Returns false if the reader has to catch up. */
  write(bytes: Buffer): boolean;
  end(bytes?: Buffer): unknown;
  addTrailers(trailers: Readonly<Fields>): void;
  /** Closes the connection at once. */
  destroy(): unknown;
  /** `close`: the connection is gone; Node emits it after each answer, too. `drain`: the reader has caught up. */
  on(event: "close" | "drain", listener: () => void): unknown;
  /** `finish`: the system has taken all of an answer that was ended. */
  once(event: "close" | "drain" | "finish", listener: () => void): unknown;
  off(event: "close" | "drain", listener: () => void): unknown;
}

interface Listening {
  readonly event: "close" | "drain";
  readonly listener: () => void;
}

const closeLine = "connection: close\r\n";

/** The fields of an answer whose connection is kept for the next request. */
export interface KeepAlive {
  /** Their lines. */
  readonly lines: string;
  /** Returns the end of a head, from behind the last field of the answer itself. */
  end(): string;
}

/** createKeepAlive creates them. `idleMs` is how long a connection may be idle; `keep-alive` gives whole seconds. */
export function createKeepAlive(idleMs: number): KeepAlive {
  const lines = `connection: keep-alive\r\nkeep-alive: timeout=${Math.floor(idleMs / 1000)}\r\n`;
  let dateOfEnd = "";
  let end = "";
  return {
    lines,
    end() {
      const date = dateLine();
      if (date !== dateOfEnd) {
        dateOfEnd = date;
        end = ["\r\n", date, lines, "\r\n"].join("");
      }
      return end;
    },
  };
}

/** PlainAnswer is the answer to one plain request. `onEnd` is called when it was handed to its socket. */
export class PlainAnswer implements HttpAnswer {
  readonly #socket: Socket;
  readonly #keepAlive: KeepAlive;
  readonly #onEnd: () => void;
  #listeners: readonly Listening[] = [];
  /** The head, from `writeHead` until it is written. */
  #head: string | undefined;
  #isInChunks = false;
  #trailers = "";
  /** Reports that the connection ends with this answer. */
  isLast = false;
  headersSent = false;
  writableEnded = false;

  constructor(socket: Socket, keepAlive: KeepAlive, onEnd: () => void) {
    this.#socket = socket;
    this.#keepAlive = keepAlive;
    this.#onEnd = onEnd;
  }

  get writableNeedDrain(): boolean {
    return this.#socket.writableNeedDrain;
  }

  writeHead(status: number, fields: Fields): this {
    this.isLast ||= fields.connection === "close";
    const own = this.isLast ? (fields.connection === "close" ? "" : closeLine) : this.#keepAlive.lines;
    const coding = fields["content-length"] === undefined ? "transfer-encoding: chunked\r\n" : "";
    this.#isInChunks = coding !== "";
    this.#head = `${statusLine(status)}\r\n${writeFields(fields)}${dateLine()}${own}${coding}\r\n`;
    this.headersSent = true;
    return this;
  }

  /**
   * Writes the whole answer. Each line of `lines` begins with the end of the line before; `content-length` is not among them.
   * `isLast` says that they have `connection: close`.
   */
  whole(status: number, lines: string, isLast: boolean, body: Buffer): void {
    const end = isLast
      ? `\r\n${dateLine()}\r\n`
      : this.isLast
        ? `\r\n${dateLine()}${closeLine}\r\n`
        : this.#keepAlive.end();
    this.isLast ||= isLast;
    this.headersSent = true;
    this.writableEnded = true;
    if (this.#socket.writable) {
      this.#sendWhole(`${statusLine(status)}${lines}\r\ncontent-length: ${body.length}${end}`, body);
    }
    this.#onEnd();
  }

  write(bytes: Buffer): boolean {
    if (this.writableEnded || !this.#socket.writable) return true;
    corkUntilImmediate(this.#socket);
    const head = this.#takeHead();
    return this.#isInChunks && bytes.length > 0
      ? this.#socket.write(encodeChunk(head, bytes))
      : this.#send(head, bytes);
  }

  end(bytes?: Buffer): void {
    if (this.writableEnded) return;
    this.writableEnded = true;
    if (!this.#socket.writable) return void this.#onEnd();
    const head = this.#takeHead();
    if (!this.#isInChunks && head !== "") this.#sendWhole(head, bytes);
    else {
      corkUntilTick(this.#socket);
      if (this.#isInChunks) this.#endInChunks(head, bytes);
      else this.#send(head, bytes);
    }
    this.#onEnd();
  }

  #endInChunks(head: string, bytes: Buffer | undefined): void {
    const end = encodeLastChunk(this.#trailers);
    if (!bytes || bytes.length === 0) this.#socket.write(head + end, "latin1");
    else {
      this.#socket.write(encodeChunk(head, bytes));
      this.#socket.write(end, "latin1");
    }
  }

  addTrailers(trailers: Readonly<Fields>): void {
    this.#trailers += writeFields(trailers);
  }

  destroy(): void {
    this.#socket.destroy();
  }

  on(event: Listening["event"], listener: () => void): void {
    this.#listeners = [...this.#listeners, { event, listener }];
  }

  /** Adds a listener. `close` is emitted once; a listener for `drain` removes itself. */
  once(event: Listening["event"] | "finish", listener: () => void): void {
    if (event === "finish") this.#onceFinished(listener);
    else this.on(event, listener);
  }

  /** The answer is over once it was handed to its socket, so the socket tells when the system has taken it. */
  #onceFinished(listener: () => void): void {
    const socket = this.#socket;
    if (socket.destroyed || !socket.writableNeedDrain) return void setImmediate(listener);
    const settle = () => {
      socket.off("drain", settle).off("close", settle);
      listener();
    };
    socket.on("drain", settle).on("close", settle);
  }

  off(event: Listening["event"], listener: () => void): void {
    this.#listeners = this.#listeners.filter((one) => one.event !== event || one.listener !== listener);
  }

  /** Emits an event of the connection. */
  emit(event: Listening["event"]): void {
    for (const one of this.#listeners) if (one.event === event) one.listener();
  }

  #takeHead(): string {
    const head = this.#head ?? "";
    this.#head = undefined;
    return head;
  }

  /** The last answer is written at once, as the connection ends right after it. */
  #sendWhole(head: string, bytes: Buffer | undefined): void {
    if (!this.isLast) coalesceWrite(this.#socket, head, bytes);
    else writeMessage(this.#socket, head, bytes);
  }

  #send(head: string, bytes: Buffer | undefined): boolean {
    if (head !== "") return writeMessage(this.#socket, head, bytes);
    return !bytes || bytes.length === 0 || this.#socket.write(bytes);
  }
}

let dateSecond = 0;
let date = "";

/** dateLine returns the `date` line, which is the same for all answers of a second (RFC 9110, section 6.6.1). */
function dateLine(): string {
  const now = Date.now();
  const second = Math.floor(now / 1000);
  if (second !== dateSecond) {
    dateSecond = second;
    date = `date: ${new Date(now).toUTCString()}\r\n`;
  }
  return date;
}
