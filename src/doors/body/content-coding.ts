/**
 * What `Content-Encoding` says of a request's body, and the body as it was before.
 *
 * Source: RFC 9110, 8.4. Codings were applied in the order in which they are named, and are undone in the other. Each step is
 * bounded and counted as the body itself is (`inflate.ts`).
 */
import { unsupportedContentCoding } from "../../call/refusals.ts";
import type { Signal } from "../../runtime/caller-abort.ts";
import { codingsIn as codingsNamedIn, knownCodings } from "../../runtime/content-codings.ts";
import type { BodyShare } from "./body-budget.ts";
import type { Inflate, Inflated } from "./inflate.ts";

const accepted = [...knownCodings, "identity"];

/** Returns the codings in the order in which they were applied. Throws a Refusal for one that is not read. */
export function codingsIn(header: string | undefined): readonly string[] {
  if (header === undefined) return [];
  const codings = codingsNamedIn(header);
  if (!codings) throw unsupportedContentCoding(accepted);
  return codings;
}

export interface Decoding {
  readonly inflate: Inflate;
  /** The most bytes that each step may make of it. */
  readonly maxBytes: number;
  /** Where the body is counted: as what it becomes from then on. */
  readonly share: BodyShare;
  /** Fires when the caller goes away. */
  readonly signal: Signal;
}

/** A body without its codings. */
export interface Decoded extends Pick<Inflated, "done"> {
  readonly body: Buffer;
}

/** Undoes the codings. Throws a Refusal. */
export async function decoded(came: Buffer, codings: readonly string[], decoding: Decoding): Promise<Decoded> {
  const { inflate, ...bounds } = decoding;
  let body = came;
  let done = () => {};
  for (const coding of codings.toReversed()) {
    // Whoever holds the place in the line would wait for itself.
    done();
    const inflated = await inflate(body, { ...bounds, coding });
    decoding.share.remove(body.length);
    done = inflated.done;
    body = inflated.pieces.length === 1 ? (inflated.pieces[0] as Buffer) : Buffer.concat(inflated.pieces);
  }
  return { body, done };
}
