/**
 * The requests that a connection may be closed upon, where it has no others and a new one needs room. No key was admitted for pages and files,
 * probes, health checks that are followed, reflection: they may last as long as their client likes, and cost nothing to ask for. And a body
 * that still comes may come as slowly as its client likes.
 */
import type { ServerResponse } from "node:http";
import type { Http2Session, Http2Stream } from "node:http2";

/** AnswerOfEither is an answer of HTTP/1.1, or of HTTP/2, which has a stream. */
type AnswerOfEither = ServerResponse & { readonly stream?: Http2Stream };

type Streams = WeakMap<Http2Session, Set<Http2Stream>>;

const answers = new WeakSet<ServerResponse>();
/** keyless has the open streams of sessions that no key was admitted for. */
const keyless: Streams = new WeakMap();
/** waiting has these, and those whose body still comes. */
const waiting: Streams = new WeakMap();

/** markKeyless notes that no key was admitted for what is answered. */
export function markKeyless(res: AnswerOfEither): void {
  const { stream } = res;
  if (!stream) answers.add(res);
  else for (const streams of [keyless, waiting]) addTo(streams, stream);
}

/** markUpload notes that the body of a stream still comes, until it has. */
export function markUpload(stream: Http2Stream): void {
  const { session } = stream;
  addTo(waiting, stream);
  stream.once("end", () => {
    if (session && !keyless.get(session)?.has(stream)) waiting.get(session)?.delete(stream);
  });
}

function addTo(streams: Streams, stream: Http2Stream): void {
  const { session } = stream;
  if (!session || stream.destroyed) return;
  const ofSession = streams.get(session) ?? new Set();
  streams.set(session, ofSession.add(stream));
  stream.once("close", () => ofSession.delete(stream));
}

/** isKeyless reports whether no key was admitted for an answer of HTTP/1.1. */
export function isKeyless(res: ServerResponse): boolean {
  return answers.has(res);
}

/** keylessStreams returns how many of the open streams of a session no key was admitted for. */
export function keylessStreams(session: Http2Session): number {
  return keyless.get(session)?.size ?? 0;
}

/** waitingStreams returns how many there are of these, and of those whose body still comes. */
export function waitingStreams(session: Http2Session): number {
  return waiting.get(session)?.size ?? 0;
}
