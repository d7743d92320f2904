/**
 * An answer to a plain request, in the words of Node's own: whole in one write with its head, or in chunks, the first of
 * which goes along with the head.
 */
import type { Socket } from "node:net";
import { encodeChunk, encodeLastChunk } from "../chunked.ts";
import { coalesceWrite } from "../coalesce-writes.ts";
import { corkUntilImmediate, corkUntilTick } from "../cork-until-immediate.ts";
import { type Fields, statusLine, writeFields } from "../fields.ts";
import { writeMessage } from "../write-message.ts";

/** What a door asks of an answer; Node's own have it, too. */
export interface HttpAnswer {
  /** Whether the head is settled. */
  readonly headersSent: boolean;
  /** Whether all of it has been handed over. */
  readonly writableEnded: boolean;
  /** Whether the reader has to catch up before more is written. */
  readonly writableNeedDrain: boolean;
  writeHead(status: number, fields: Fields): unknown;
  /** Returns false where the reader has to catch up. */
  write(bytes: Buffer): boolean;
  end(bytes?: Buffer): unknown;
  addTrailers(trailers: Readonly<Fields>): void;
  /** Cuts the connection. */
  destroy(): unknown;
  /** `close`: the connection is gone; Node's own tell it after each answer, too. `drain`: the reader has caught up. */
  on(event: "close" | "drain", listener: () => void): unknown;
  once(event: "close" | "drain", listener: () => void): unknown;
  off(event: "close" | "drain", listener: () => void): unknown;
}

interface Listening {
  readonly event: "close" | "drain";
  readonly listener: () => void;
}

const closing = "connection: close\r\n";

/** What an answer says of a connection that is kept for the next request. */
export interface KeepAlive {
  /** The lines of fields. */
  readonly lines: string;
  /** Returns the end of a head, from behind the last of the answer's own fields on. */
  end(): string;
}

/** `idleMs`: how long a client may keep its connection without a request. It is told whole seconds. */
export function createKeepAlive(idleMs: number): KeepAlive {
  const lines = `connection: keep-alive\r\nkeep-alive: timeout=${Math.floor(idleMs / 1000)}\r\n`;
  let ofDate = "";
  let end = "";
  return {
    lines,
    end() {
      const date = dateLine();
      if (date !== ofDate) {
        ofDate = date;
        end = ["\r\n", date, lines, "\r\n"].join("");
      }
      return end;
    },
  };
}

export class PlainAnswer implements HttpAnswer {
  readonly #socket: Socket;
  readonly #keepAlive: KeepAlive;
  readonly #onEnd: () => void;
  #listeners: readonly Listening[] = [];
  /** Undefined until it is settled, and once it is written. */
  #head: string | undefined;
  #isInChunks = false;
  #trailers = "";
  /** Whether the connection ends with it. */
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
    const own = this.isLast ? (fields.connection === "close" ? "" : closing) : this.#keepAlive.lines;
    const coding = fields["content-length"] === undefined ? "transfer-encoding: chunked\r\n" : "";
    this.#isInChunks = coding !== "";
    this.#head = `${statusLine(status)}\r\n${writeFields(fields)}${dateLine()}${own}${coding}\r\n`;
    this.headersSent = true;
    return this;
  }

  /**
   * Answers with all at once. Each line of a field begins with the end of the one before; the body's length is none of them.
   * `isLast` says that one of them ends the connection.
   */
  whole(status: number, lines: string, isLast: boolean, body: Buffer): void {
    const end = isLast
      ? `\r\n${dateLine()}\r\n`
      : this.isLast
        ? `\r\n${dateLine()}${closing}\r\n`
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

  /** `close` comes once, and who waits for `drain` takes itself away. */
  once(event: Listening["event"], listener: () => void): void {
    this.on(event, listener);
  }

  off(event: Listening["event"], listener: () => void): void {
    this.#listeners = this.#listeners.filter((one) => one.event !== event || one.listener !== listener);
  }

  /** Tells of an event of the connection. */
  emit(event: Listening["event"]): void {
    for (const one of this.#listeners) if (one.event === event) one.listener();
  }

  #takeHead(): string {
    const head = this.#head ?? "";
    this.#head = undefined;
    return head;
  }

  /** What ends the connection is handed over before that. */
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

/** The same for all answers of a second (RFC 9110, section 6.6.1). */
function dateLine(): string {
  const now = Date.now();
  const second = Math.floor(now / 1000);
  if (second !== dateSecond) {
    dateSecond = second;
    date = `date: ${new Date(now).toUTCString()}\r\n`;
  }
  return date;
}
