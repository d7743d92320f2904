/**
 * Has Node's server read a connection's requests one at a time. One read may bring two thousand of them, which cost their client nothing
 * and no key: Node would read all of them, and begin their answers, before anything else runs. And a handshake would be answered before
 * those requests whose answers wait for their turn.
 *
 * The next request waits until the one before it is answered. Then it waits for a turn of the event loop, in one line with the requests of
 * all other connections.
 */
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { isPausedByServer, isReadByServer, takeDataListener } from "../../http1/server/index.ts";
import { originOf } from "./rotation.ts";
import { createTurns, type TurnBounds, type Turns } from "./turns.ts";

/** headEnd ends the head of a request, and a body in chunks, and may stand within one. */
const headEnd = "\r\n\r\n";
/** piecesAtOnce is how many pieces of a body in chunks are read at once. */
const piecesAtOnce = 64;
const nothing = Buffer.alloc(0);
/** restTurns are the bounds of connections that go on with the rest of a read. */
const restTurns: TurnBounds = { most: 8, whileAccepting: 2, patienceMs: 0 };

type Serve = (socket: Socket) => void;

export interface PipelinedRequests {
  /** Has Node's server serve a connection. */
  readonly serve: Serve;
  /** Leaves a connection to whoever serves it from now on. Returns what has come and was not read. They resume it once they listen. */
  leave(socket: Socket): Buffer;
  /** Reports that a connection was accepted in this turn. */
  accepted(): void;
}

/** AnswerOn returns the last answer that has begun on a connection. */
type AnswerOn = (socket: Socket) => ServerResponse | undefined;

/** createPipelinedRequests returns what serves connections by `serve`, which is Node's own listener for them. */
export function createPipelinedRequests(serve: Serve, answerOn: AnswerOn): PipelinedRequests {
  const turns = createTurns(restTurns);
  const leaves = new WeakMap<Socket, () => Buffer>();
  return {
    serve(socket) {
      serve(socket);
      leaves.set(socket, readInPieces(socket, takeDataListener(socket), answerOn, turns));
    },
    leave: (socket) => leaves.get(socket)?.() ?? nothing,
    accepted: turns.accepted,
  };
}

/** readInPieces has `read` read what a connection brings. Returns what ends that, as `leave` does. */
function readInPieces(socket: Socket, read: (bytes: Buffer) => void, answerOn: AnswerOn, turns: Turns): () => Buffer {
  let rest: Buffer | undefined;
  const readPiece = createPieces(read, () => answerOn(socket));

  /** Node resumes the connection whenever its client has read an answer, also while a rest waits, or nobody listens yet. */
  function onResume(): void {
    if (rest || socket.listenerCount("data") === 0) socket.pause();
  }

  function onData(bytes: Buffer): void {
    // Node may have ended the reading, and another connection have its parser.
    if (!isReadByServer(socket)) return;
    const isWaiting = rest !== undefined;
    rest = rest ? Buffer.concat([rest, bytes]) : bytes;
    if (!isWaiting) readSome();
  }

  /** Reads up to the end of a request, or some of it. */
  function readSome(): void {
    for (let pieces = 0; rest && pieces < piecesAtOnce && mayRead(); pieces++)
      readPiece(rest, (unread) => {
        rest = unread;
      });
    goOn();
  }

  const mayRead = () => isReadByServer(socket) && !isPausedByServer(socket) && !isUnanswered(answerOn(socket));

  /** Has a later turn read the rest. Node takes none for a client that does not read its answers. */
  function goOn(): void {
    // A connection that Node does not read any more ends.
    if (!rest || !isReadByServer(socket)) return;
    socket.pause();
    const answer = answerOn(socket);
    if (isUnanswered(answer)) answer.once("close", goOn);
    else if (isPausedByServer(socket)) socket.once("resume", goOn);
    else turns.begin({ begin: readRest, isOver: () => socket.destroyed, origin: originOf(socket) });
  }

  function readRest(): void {
    readSome();
    if (!rest && isReadByServer(socket) && !isPausedByServer(socket)) socket.resume();
  }

  socket.on("data", onData).on("resume", onResume);
  return () => {
    socket.off("data", onData);
    const unread = rest ?? nothing;
    rest = undefined;
    return unread;
  };
}

/**
 * createPieces returns what reads the first piece of some bytes, which ends where a request may, after it has told what is behind that:
 * a piece never has the end of one request and the beginning of another.
 */
function createPieces(read: (bytes: Buffer) => void, lastAnswer: () => ServerResponse | undefined) {
  /** before is what was read last: it may have the beginning of a blank line. */
  let before = "";
  /** bodyLeft is how many bytes are left of a body whose length was announced. */
  let bodyLeft = 0;
  return (bytes: Buffer, tellRest: (rest: Buffer | undefined) => void) => {
    const end = bodyLeft > 0 ? Math.min(bodyLeft, bytes.length) : endOfBlankLine(before, bytes);
    const piece = bytes.subarray(0, end);
    const known = lastAnswer();
    tellRest(end < bytes.length ? bytes.subarray(end) : undefined);
    read(piece);
    before = (before + piece.toString("latin1", Math.max(0, end - (headEnd.length - 1)))).slice(1 - headEnd.length);
    const last = lastAnswer();
    if (bodyLeft > 0) bodyLeft -= end;
    else if (last !== known) bodyLeft = Number(last?.req.headers["content-length"] ?? 0);
  };
}

/** isUnanswered reports whether a whole request waits for its answer, or for the rest of it. */
function isUnanswered(answer: ServerResponse | undefined): answer is ServerResponse {
  return answer?.req.complete === true && !answer.writableFinished && !answer.destroyed;
}

/** endOfBlankLine returns where a blank line has ended, of which `before` may have the beginning; the length where none has. */
function endOfBlankLine(before: string, bytes: Buffer): number {
  const atSeam = (before + bytes.toString("latin1", 0, headEnd.length - 1)).indexOf(headEnd);
  if (atSeam !== -1) return atSeam + headEnd.length - before.length;
  const at = bytes.indexOf(headEnd);
  return at === -1 ? bytes.length : at + headEnd.length;
}
