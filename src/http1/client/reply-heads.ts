/**
 * Reads the heads of one connection's replies. Heads of replies within the same second often repeat each other: such a head is
 * recognised by its bytes and not parsed again.
 */
import { headEnd, parseLength } from "../fields.ts";
import { KnownHead } from "../known-head.ts";
import { checkBeginning, malformed, type ReplyHead, readReplyHead } from "./reply.ts";

/** A head, and where the bytes behind it begin. */
export interface ReplyBeginning {
  readonly head: ReplyHead;
  /** The value of `content-length`, if it has been parsed. */
  readonly length: number | undefined;
  readonly from: number;
}

const maxHeadBytes = 32_768;

export class ReplyHeads {
  /** Undefined for a connection of one reply, or whose replies have no length: it remembers nothing. */
  #known: KnownHead | undefined;
  #last: ReplyHead | undefined;
  #isFirst = true;
  readonly #remembers: boolean;

  constructor(remembers = true) {
    this.#remembers = remembers;
  }

  /**
   * Reads a head from the beginning of `bytes`. Returns undefined while it is not complete; the result is valid until the next call.
   * Throws an Error for a malformed head.
   */
  read(bytes: Buffer): ReplyBeginning | undefined {
    const repetition = this.#known?.repetitionIn(bytes);
    if (repetition && this.#last) {
      this.#last.fields["content-length"] = repetition.lengthText;
      return { head: this.#last, length: repetition.length, from: repetition.from };
    }
    const end = bytes.indexOf(headEnd);
    if (end === -1 ? bytes.length > maxHeadBytes : end > maxHeadBytes) throw malformed("its head is too long");
    if (end === -1) return void checkBeginning(bytes);
    const head = readReplyHead(bytes.toString("latin1", 0, end));
    const from = end + headEnd.length;
    if (this.#remembers && !this.#isFirst) this.#remember(head, bytes, from);
    this.#isFirst = false;
    return { head, length: undefined, from };
  }

  #remember(head: ReplyHead, bytes: Buffer, from: number): void {
    const { lengthColon, fields } = head;
    // A head without a valid length is parsed each time.
    if (lengthColon === undefined || parseLength(fields["content-length"] as string) === undefined) return;
    this.#known ??= new KnownHead();
    this.#last = this.#known.remember(bytes, from, lengthColon) ? head : undefined;
  }
}
