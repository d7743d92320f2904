/**
 * The answers that no key was admitted for: pages and files, probes, health checks that are followed, reflection. They may last as long
 * as their client likes, and cost nothing to ask for. So a connection that has nothing else running makes room for a new one, as an
 * idle one does.
 */
import type { ServerResponse } from "node:http";
import type { Http2Session, Http2Stream } from "node:http2";

/** An answer of HTTP/1.1, or of HTTP/2, which has a stream. */
type AnswerOfEither = ServerResponse & { readonly stream?: Http2Stream };

const answers = new WeakSet<ServerResponse>();
/** streams is how many of the open streams of a session are such answers. */
const streams = new WeakMap<Http2Session, number>();

/** markKeyless notes that no key was admitted for what is answered. */
export function markKeyless(res: AnswerOfEither): void {
  const { stream } = res;
  const session = stream?.session;
  if (!stream) answers.add(res);
  if (!stream || !session || stream.destroyed) return;
  const change = (by: number) => streams.set(session, keylessStreams(session) + by);
  change(1);
  stream.once("close", () => change(-1));
}

/** isKeyless reports whether no key was admitted for an answer of HTTP/1.1. */
export function isKeyless(res: ServerResponse): boolean {
  return answers.has(res);
}

/** keylessStreams returns how many of the open streams of a session no key was admitted for. */
export function keylessStreams(session: Http2Session): number {
  return streams.get(session) ?? 0;
}
