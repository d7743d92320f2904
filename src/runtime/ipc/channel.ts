/**
 * A channel between two processes of one gateway: questions that are answered, and messages that are not, as plain data over a stream
 * that goes both ways.
 *
 * All that is sent in one step of the event loop is one frame: four bytes of length, most significant first, and a list of messages in
 * JSON. So a question costs no system call of its own. Questions are handled in the order in which they were asked, and may be answered
 * in another. `undefined` in a list, and numbers that are not finite, do not pass.
 */
import type { Duplex } from "node:stream";
import { Deferred, type MaybePromise, thenOrCatch } from "../maybe-promise.ts";

/** Questions are what may be asked over a channel, by their names: what each brings, and what answers it. */
export type Questions = Readonly<Record<string, readonly [asked: unknown, answer: unknown]>>;

/** Done is the answer to what is only done. */
export type Done = ReturnType<() => void>;

/** Answers are the functions that answer questions. An error of theirs goes to the asker, with its message and code. */
export type Answers<Q extends Questions> = {
  readonly [N in keyof Q]: (asked: Q[N][0]) => MaybePromise<Q[N][1]>;
};

/** Asking asks the other side a question of a contract. */
export interface Asking<Q extends Questions> {
  /** Resolves to the answer. Rejects with the other side's error, or with a ClosedError once the channel is closed. */
  ask<N extends keyof Q & string>(name: N, asked: Q[N][0]): Deferred<Q[N][1]>;
  /** Asks without waiting for an answer. Nothing happens where the channel is closed. */
  tell<N extends keyof Q & string>(name: N, asked: Q[N][0]): void;
}

export interface Channel {
  by<Q extends Questions>(): Asking<Q>;
  /** Adds functions that answer the other side. What comes before they are there is an error of the asker's. */
  answer<Q extends Questions>(answers: Answers<Q>): void;
  /** Resolves when the other side has closed it, or has died; never rejects. */
  readonly closed: Promise<void>;
  isClosed(): boolean;
  /** Sends what is to be sent, and closes. */
  close(): void;
}

/** ClosedError says that the other process is gone, and with it the answer. */
export class ClosedError extends Error {
  override readonly name = "ClosedError";
  readonly code = "DATABASE_AWAY";

  constructor() {
    super("the process that answers has ended");
  }
}

const [told, asked, answered, failed] = [0, 1, 2, 3] as const;

type Message =
  | readonly [kind: typeof told, name: string, body: unknown]
  | readonly [kind: typeof asked, name: string, body: unknown, id: number]
  | readonly [kind: typeof answered, body: unknown, id: number]
  | readonly [kind: typeof failed, error: ToldError, id: number];

interface ToldError {
  readonly message: string;
  readonly code?: string | undefined;
}

interface State {
  readonly stream: Duplex;
  readonly answers: Map<string, (asked: unknown) => MaybePromise<unknown>>;
  readonly waiting: Map<number, Deferred<unknown>>;
  /** outbox is what is sent at the end of this turn. */
  outbox: Message[];
  last: number;
  isClosed: boolean;
}

export function createChannel(stream: Duplex): Channel {
  const state: State = { stream, answers: new Map(), waiting: new Map(), outbox: [], last: 0, isClosed: false };
  const closed = new Promise<void>((resolve) => {
    stream.once("close", () => {
      state.isClosed = true;
      for (const one of state.waiting.values()) one.reject(new ClosedError());
      state.waiting.clear();
      resolve();
    });
  });
  const destroy = () => void stream.destroy();
  // The other process's death may be a reset.
  stream.on("error", destroy).on("end", destroy);
  stream.on(
    "data",
    createReader((message) => receive(state, message)),
  );
  const asking: Asking<Questions> = {
    ask(name, body) {
      const answer = new Deferred<unknown>();
      if (state.isClosed) answer.reject(new ClosedError());
      else {
        state.waiting.set(++state.last, answer);
        send(state, [asked, name, body, state.last]);
      }
      return answer;
    },
    tell: (name, body) => send(state, [told, name, body]),
  };
  return {
    by: <Q extends Questions>() => asking as Asking<Q>,
    answer(answers) {
      for (const [name, answer] of Object.entries(answers)) state.answers.set(name, answer as never);
    },
    closed,
    isClosed: () => state.isClosed,
    close() {
      flush(state);
      stream.end();
    },
  };
}

function send(state: State, message: Message): void {
  if (state.isClosed) return;
  if (state.outbox.push(message) === 1) queueMicrotask(() => flush(state));
}

function flush(state: State): void {
  const { outbox, stream } = state;
  if (outbox.length === 0 || state.isClosed) return;
  state.outbox = [];
  stream.write(frameOf(outbox));
}

function frameOf(messages: readonly Message[]): Buffer {
  const text = JSON.stringify(messages);
  // Three bytes for a character at most.
  const frame = Buffer.allocUnsafe(headBytes + (text.length < smallChars ? 3 * text.length : Buffer.byteLength(text)));
  const length = frame.write(text, headBytes);
  frame.writeUInt32BE(length);
  return frame.subarray(0, headBytes + length);
}

const headBytes = 4;
/** A text of fewer characters is written without its length being counted before. */
const smallChars = 4096;

/** createReader returns what reads pieces of a stream, and calls `onMessage` with each message that is whole. */
function createReader(onMessage: (message: Message) => void): (piece: Buffer) => void {
  let rest: Buffer[] = [];
  let length = 0;
  let needed = headBytes;
  return (piece) => {
    rest.push(piece);
    length += piece.length;
    if (length < needed) return;
    let all = rest.length === 1 ? piece : Buffer.concat(rest, length);
    for (;;) {
      needed = headBytes + (all.length < headBytes ? 0 : all.readUInt32BE());
      if (all.length < Math.max(needed, headBytes + 1)) break;
      const messages = JSON.parse(all.toString("utf8", headBytes, needed)) as Message[];
      all = all.subarray(needed);
      for (const message of messages) onMessage(message);
    }
    rest = all.length === 0 ? [] : [all];
    length = all.length;
  };
}

function receive(state: State, message: Message): void {
  if (message[0] === answered) takeWaiting(state, message[2])?.resolve(message[1]);
  else if (message[0] === failed) takeWaiting(state, message[2])?.reject(errorOf(message[1]));
  else if (message[0] === told) void thenOrCatch(() => answer(state, message[1], message[2]), ignore, ignore);
  else respond(state, message[1], message[2], message[3]);
}

function takeWaiting({ waiting }: State, id: number): Deferred<unknown> | undefined {
  const one = waiting.get(id);
  waiting.delete(id);
  return one;
}

function respond(state: State, name: string, body: unknown, id: number): void {
  void thenOrCatch(
    () => answer(state, name, body),
    (value) => send(state, [answered, value, id]),
    (error) => send(state, [failed, toldError(error), id]),
  );
}

function answer({ answers }: State, name: string, body: unknown): MaybePromise<unknown> {
  const one = answers.get(name);
  if (!one) throw new Error(`nobody answers ${name}`);
  return one(body);
}

/** ignore takes an answer that nobody waits for: its handlers report their own errors. */
const ignore = () => {};

/** toldError returns what passes of an error. */
export function toldError(error: unknown): ToldError {
  const { message = String(error), code } = (error ?? {}) as Partial<NodeJS.ErrnoException>;
  return { message, code };
}

/** errorOf returns an error as the other side told of it. */
export function errorOf({ message, code }: ToldError): Error {
  return Object.assign(new Error(message), code === undefined ? {} : { code });
}
