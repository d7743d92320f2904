/**
 * Decides whether a connection may carry another request. It may only where its answer ended beyond doubt: what is left of one
 * answer would be read as the next one, and that would be somebody else's.
 *
 * What cannot be read at all (RFC 9112, sections 2.2, 5 and 7.1), or has two ends to choose from (6.3), has broken its
 * connection off before this is asked. A connection that passes rests for a turn of the event loop (`pool.ts`).
 */

/** What is known of an answer when it has ended. */
export interface Ending {
  /** How long its server keeps the connection, by its head, in milliseconds; 0 where it does not. */
  readonly keptMs: number;
  /** Whether its head announces a body, and its status has none. */
  readonly isBodyInDoubt: boolean;
  /** Whether it began before its request was wholly written. */
  readonly isEarly: boolean;
  /** Whether bytes came behind its end. */
  readonly isMoreBehind: boolean;
  /** Whether bytes of its request still wait to be written. */
  readonly isWriting: boolean;
}

/**
 * Returns for how long the connection may be used again, in milliseconds; 0 where it may not. The rules, by the sections of
 * RFC 9112 (an answer whose end is the connection's, 6.3 rule 8, leaves none to be asked about):
 *
 * - `keptMs` (9.3, 9.6): the server ends it, for it says `close` anywhere in the list, is of HTTP/1.0 and does not say
 *   `keep-alive`, or keeps it for no time.
 * - `isBodyInDoubt` (6.3, rule 1): nothing is read behind the head of a 204 or 304, and a server that announces a body there
 *   may send it. 6.1 lets none send `transfer-encoding` with a 204, and RFC 9110, 8.6, no length. A 304 may tell the length of
 *   what it stands for; that is not worth telling the good ones from the bad.
 * - `isMoreBehind` (9.2): it answers nothing that was asked, so that it is not known where answers begin.
 * - `isEarly` (9.5): what begins before its request was wholly written refuses the rest, or answers something else.
 * - `isWriting` (9.3): the server may read the rest of the request as another one.
 */
export function reusableForMs({ keptMs, isBodyInDoubt, isEarly, isMoreBehind, isWriting }: Ending): number {
  return isBodyInDoubt || isEarly || isMoreBehind || isWriting ? 0 : keptMs;
}
