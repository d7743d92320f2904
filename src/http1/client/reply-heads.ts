/**
 * The heads of one connection's answers. A server that answers quickly says the same with each, for as long as the second
 * lasts that it tells: it is not read again.
 */
import { headEnd, parseLength } from "../fields.ts";
import { KnownHead } from "../known-head.ts";
import { checkBeginning, notUnderstood, type ReplyHead, readReplyHead } from "./reply.ts";

/** A head, and where what comes behind it begins. */
export interface ReplyBeginning {
  readonly head: ReplyHead;
  /** The length that it tells, where that has been read already. */
  readonly length: number | undefined;
  readonly from: number;
}

const longestHead = 32_768;

export class ReplyHeads {
  /** A connection for one answer, and one whose answers tell no length, keeps nothing. */
  #known: KnownHead | undefined;
  #last: ReplyHead | undefined;
  #isFirst = true;
  readonly #remembers: boolean;

  constructor(remembers = true) {
    this.#remembers = remembers;
  }

  /**
   * Returns undefined while the head has not come whole. Throws an Error for what is none. What it returns holds until it is
   * called again.
   */
  read(bytes: Buffer): ReplyBeginning | undefined {
    const repetition = this.#known?.repetitionIn(bytes);
    if (repetition && this.#last) {
      this.#last.fields["content-length"] = repetition.lengthText;
      return { head: this.#last, length: repetition.length, from: repetition.from };
    }
    const end = bytes.indexOf(headEnd);
    if (end === -1 ? bytes.length > longestHead : end > longestHead) throw notUnderstood("its head is too long");
    if (end === -1) return void checkBeginning(bytes);
    const head = readReplyHead(bytes.toString("latin1", 0, end));
    const from = end + headEnd.length;
    if (this.#remembers && !this.#isFirst) this.#remember(head, bytes, from);
    this.#isFirst = false;
    return { head, length: undefined, from };
  }

  #remember(head: ReplyHead, bytes: Buffer, from: number): void {
    const { lengthColon, fields } = head;
    // What tells no length, or no good one, is read each time.
    if (lengthColon === undefined || parseLength(fields["content-length"] as string) === undefined) return;
    this.#known ??= new KnownHead();
    this.#last = this.#known.remember(bytes, from, lengthColon) ? head : undefined;
  }
}
