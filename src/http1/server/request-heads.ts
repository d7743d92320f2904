/**
 * The heads of one connection's requests. Most clients send the same one with each, and those that send for several the same
 * with another credential: it is not read again.
 */
import { KnownHead, type Repetition } from "../known-head.ts";
import { type PlainHead, type ReadHead, readHead } from "./request.ts";

export class RequestHeads {
  /** A connection for one request, as of many a stream, keeps nothing. */
  #known: KnownHead | undefined;
  #last: ReadHead | undefined;
  #isFirst = true;
  /** Undefined until the head that is known comes again, credential and all. */
  #sameHeaders: object | undefined;
  readonly #remembers: boolean;

  constructor(remembers = true) {
    this.#remembers = remembers;
  }

  /** Returns undefined for what is for somebody else. The headers it returns hold until it is called again. */
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
