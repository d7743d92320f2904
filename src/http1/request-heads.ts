/** The heads of one connection's requests. Most clients send the same one with each: it is not read again. */
import { KnownHead } from "./known-head.ts";
import { type PlainHead, type ReadHead, readHead } from "./served-request.ts";

export class RequestHeads {
  /** A connection for one request, as of many a stream, keeps nothing. */
  #known: KnownHead | undefined;
  #last: ReadHead | undefined;
  #isFirst = true;

  /** Returns undefined for what is for somebody else. The headers it returns hold until it is called again. */
  read(bytes: Buffer): PlainHead | undefined {
    const repetition = this.#known?.repetitionIn(bytes);
    if (repetition && this.#last) {
      const { url, headers } = this.#last;
      const { lengthText, length, from } = repetition;
      headers["content-length"] = lengthText;
      return { url, headers, isRepeated: true, from, to: from + length };
    }
    const head = readHead(bytes);
    if (head && !this.#isFirst) this.#remember(head, bytes);
    this.#isFirst = false;
    return head;
  }

  #remember(head: ReadHead, bytes: Buffer): void {
    this.#known ??= new KnownHead();
    this.#last = this.#known.remember(bytes, head.from, head.lengthColon) ? head : undefined;
  }
}
