/** Describes a misbehaviour of an upstream, and the pieces that they are made of. */
import { another, answered, later, type MisbehaviourOptions } from "./misbehaving-server.ts";

export interface Row extends MisbehaviourOptions {
  /** name is what the upstream does. */
  readonly name: string;
  /** own is what the caller of it has of our client: its own answer, or a failure; unset where either does. */
  readonly own?: "answer" | "fail";
  /** isTimedOut is whether the call ends by a time-out, if only undici's. It is played once: all others last as long as they need. */
  readonly isTimedOut?: boolean;
  /** rounds is how often it is played on either lane. */
  readonly rounds?: number;
  /** Of the request to it. */
  readonly body?: Buffer;
  /** isSettled is whether the next request is sent only when all has been played. */
  readonly isSettled?: boolean;
  /** isUndecidable is whether it cannot always be known that an answer is another's. */
  readonly isUndecidable?: boolean;
}

export type Text = (id: string) => string;

export const evil = answered(another);
export const head = (id: string, lines: string) => `HTTP/1.1 200 OK\r\nx-call: ${id}\r\n${lines}\r\n`;
export const chunkOf = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;
export const chunked = (id: string, end = "0\r\n\r\n") =>
  `${head(id, "transfer-encoding: chunked\r\n")}${chunkOf(id)}${end}`;

/** Says all of it at once, another's answer behind it. */
export const atOnce = (name: string, text: Text, own?: Row["own"]): Row => ({
  ...{ name, ...(own ? { own } : {}) },
  play: ({ id, write }) => write(text(id) + evil),
});

/** Says it, and another's answer a little later, when the connection may carry the next request. */
export const thenLater = (name: string, text: Text, own?: Row["own"]): Row => ({
  ...{ name, ...(own ? { own } : {}) },
  async play({ id, write }) {
    await write(text(id));
    await later();
    await write(evil);
  },
});

/** The same both ways. */
export const both = (name: string, text: Text, own?: Row["own"]): Row[] => [
  atOnce(name, text, own),
  thenLater(`${name}, and goes on later`, text, own),
];

export const timedOut = (row: Row): Row => ({ ...row, isTimedOut: true });

export const bodyless = (status: string, lines: string) => (id: string) =>
  `HTTP/1.1 ${status}\r\nx-call: ${id}\r\n${lines}\r\n`;
export const framed = (lines: string, body: Text) => (id: string) => head(id, lines) + body(id);
export const plain: Text = (id) => id;
export const length = (id: string) => `content-length: ${id.length}\r\n`;
export const withHead = (lines: string) => (id: string) => `HTTP/1.1 200 OK\r\n${lines}${length(id)}\r\n${id}`;
