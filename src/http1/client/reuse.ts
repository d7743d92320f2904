/**
 * Decides whether a connection may carry another request. It may only if its reply ended beyond doubt: what is left of one reply
 * would be read as the next one, which belongs to another caller.
 *
 * A reply that is malformed (RFC 9112, sections 2.2, 5 and 7.1), or whose end is ambiguous (6.3), has closed its connection
 * before this is asked. A connection that passes rests for a turn of the event loop (`pool.ts`).
 */

/** Ending is what is known of a reply when it has ended. */
export interface Ending {
  /** keptMs is how long the server keeps the connection, by the head, in milliseconds; 0 if it closes it. */
  readonly keptMs: number;
  /** Reports that the head announces a body, and the status has none. */
  readonly isBodyInDoubt: boolean;
  /** Reports that the reply began before its request was completely written. */
  readonly isEarly: boolean;
  /** Reports that bytes came behind the end. */
  readonly hasMore: boolean;
  /** Reports that bytes of the request still wait to be written. */
  readonly isWriting: boolean;
}

/**
 * Returns for how long the connection may be reused, in milliseconds; 0 if it may not. The rules, by the sections of RFC 9112 (a
 * reply that ends with the connection, 6.3 rule 8, leaves none to ask about):
 *
 * - `keptMs` (9.3, 9.6): the server closes it. It says `close` anywhere in the list, speaks HTTP/1.0 without `keep-alive`, or
 *   keeps the connection for no time.
 * - `isBodyInDoubt` (6.3, rule 1): nothing is read behind the head of a 204 or 304, but a server that announces a body there may
 *   send it. 6.1 forbids `transfer-encoding` with a 204, and RFC 9110, 8.6, a length. A 304 may give the length of what it stands
 *   for; telling those from the others is not worth it.
 * - `hasMore` (9.2): bytes that answer no request hide where the next reply begins.
 * - `isEarly` (9.5): a reply that begins before its request was completely written refuses the rest, or answers something else.
 * - `isWriting` (9.3): the server may read the rest of the request as another one.
 */
export function reusableForMs({ keptMs, isBodyInDoubt, isEarly, hasMore, isWriting }: Ending): number {
  return isBodyInDoubt || isEarly || hasMore || isWriting ? 0 : keptMs;
}
