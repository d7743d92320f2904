/**
 * Reads the heads of one connection's requests. Most clients repeat the same head with each request, and clients that serve several
 * callers repeat it with another credential: such a head is not parsed again.
 */
import { KnownHead, type Repetition } from "../known-head.ts";
import { type PlainHead, type ReadHead, readHead } from "./request.ts";

export class RequestHeads {
  /** Undefined for a connection of one request, as many a stream has: it remembers nothing. */
  #known: KnownHead | undefined;
  #last: ReadHead | undefined;
  #isFirst = true;
  /** Undefined until the known head is repeated with the same credential. */
  #sameHeaders: object | undefined;
  readonly #remembers: boolean;

  constructor(remembers = true) {
    this.#remembers = remembers;
  }

  /** Reads a head. Returns undefined for a request that Node's server is to answer. The headers are valid until the next call. */
  read(bytes: Buffer): PlainHead | undefined {
    const repetition = this.#known?.repetitionIn(bytes);
    if (repetition && this.#last) return this.#again(this.#last, repetition);
    const head = readHead(bytes);
    if (this.#remembers && head && !this.#isFirst) this.#remember(head, bytes);
    this.#isFirst = false;
    return head;
  }

  #again({ url, headers, credential: known }: ReadHead, repetition: Repetition): PlainHead {
    const { lengthText, length, from, credential } = repetition;
    headers["content-length"] = lengthText;
    if (known && credential !== undefined) {
      headers[known.name] = credential;
      this.#sameHeaders = undefined;
      return { url, headers, sameHeaders: undefined, from, to: from + length };
    }
    this.#sameHeaders ??= {};
    return { url, headers, sameHeaders: this.#sameHeaders, from, to: from + length };
  }

  #remember(head: ReadHead, bytes: Buffer): void {
    this.#known ??= new KnownHead();
    this.#last = this.#known.remember(bytes, head.from, head.lengthColon, head.credential) ? head : undefined;
    this.#sameHeaders = undefined;
  }
}
