/**
 * Decodes a body by its `Content-Encoding`.
 *
 * Source: RFC 9110, 8.4. Codings are named in the order in which they were applied, and undone in the reverse order. Each step is
 * bounded and counted as the body itself (`inflate.ts`).
 */
import { unsupportedContentCoding } from "../../call/refusals.ts";
import type { Signal } from "../../runtime/caller-abort.ts";
import { codingsIn as codingsNamedIn, knownCodings } from "../../runtime/content-codings.ts";
import type { BodyShare } from "./body-budget.ts";
import type { Inflate, Inflated } from "./inflate.ts";

const accepted = [...knownCodings, "identity"];

/** codingsIn returns the codings in the order in which they were applied. Throws a Refusal for an unsupported one. */
export function codingsIn(header: string | undefined): readonly string[] {
  if (header === undefined) return [];
  const codings = codingsNamedIn(header);
  if (!codings) throw unsupportedContentCoding(accepted);
  return codings;
}

export interface Decoding {
  readonly inflate: Inflate;
  /** The most bytes after each step. */
  readonly maxBytes: number;
  /** Counts the body: after each step, as what it has become. */
  readonly share: BodyShare;
  /** Fires when the client disconnects. */
  readonly signal: Signal;
}

/** Decoded is a body without its codings. */
export interface Decoded extends Pick<Inflated, "done"> {
  readonly body: Buffer;
}

/** Undoes the codings of a body. Throws a Refusal. */
export async function decoded(received: Buffer, codings: readonly string[], decoding: Decoding): Promise<Decoded> {
  const { inflate, ...bounds } = decoding;
  let body = received;
  let done = () => {};
  for (const coding of codings.toReversed()) {
    // Otherwise this step would wait for the lock that the last one holds.
    done();
    const inflated = await inflate(body, { ...bounds, coding });
    decoding.share.remove(body.length);
    done = inflated.done;
    body = inflated.pieces.length === 1 ? (inflated.pieces[0] as Buffer) : Buffer.concat(inflated.pieces);
  }
  return { body, done };
}
