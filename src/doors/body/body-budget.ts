/**
 * Bounds the bytes of request bodies in memory, in all and by account. Bytes are counted as they arrive: a length that is only
 * announced takes no memory. A body beyond the bound is refused, and its client asked to try again. A body that grows after it has
 * arrived, because it was compressed or refers to something, is counted as what it becomes, and may become no larger than a body
 * that arrives.
 *
 * The last quarter of the room is for small bodies alone, so that a few large ones do not hold up everybody. Where the process has less
 * memory than the bound supposes, larger ones find no room sooner, and neither do long answers (`held-answers.ts`): both are counted
 * against the memory that is left.
 */
import type { AnswerRoom, AnswerWaiting, BodyRoom } from "../../call/call.ts";
import { bodiesTooMany, expandedTooLarge } from "../../call/refusals.ts";
import type { MemoryRoom } from "../../runtime/memory/memory-room.ts";
import { HeldAnswer, HeldAnswers, maxSmall } from "./held-answers.ts";

export interface BodyBounds {
  readonly maxBytes: number;
  readonly maxBytesPerAccount: number;
  /** The bound of one body. */
  readonly maxBytesEach: number;
  /** The memory of the process; unset where nothing is known of it. */
  readonly memory?: MemoryRoom | undefined;
}

export interface BodyBudget {
  /** Returns the share of a call, with nothing counted yet. */
  open(accountId: string): BodyShare;
  /** bytes is how many bytes are held now, of bodies and of long answers. */
  readonly bytes: number;
}

/** BodyShare counts the bytes that one call holds. */
export interface BodyShare extends BodyRoom {
  /** Counts bytes that have arrived. Throws a Refusal where there is no room for them. */
  add(bytes: number): void;
  /** Gives back bytes that are no longer held. */
  remove(bytes: number): void;
  /** Gives back the bytes of the body, and counts no more of it. Those of answers stay. */
  releaseBody(): void;
  /** Gives back the bytes of answers, and counts no more of them. Those of the body stay. */
  releaseAnswers(): void;
  /** Gives back all bytes, and counts nothing from then on. */
  release(): void;
}

/** The part of the room that is for all bodies. */
const commonShare = 0.75;

export function createBodyBudget(bounds: BodyBounds): BodyBudget {
  const held = new HeldBodies(bounds);
  return {
    open: (accountId) => new Share(held, accountId),
    get bytes() {
      return held.total + held.answers.bytes;
    },
  };
}

/** HeldBodies sums the bytes that are held, in all and by account. */
class HeldBodies {
  readonly bounds: BodyBounds;
  readonly #common: number;
  readonly #byAccount = new Map<string, number>();
  /** The bytes of bodies. */
  total = 0;
  readonly answers: HeldAnswers;

  constructor(bounds: BodyBounds) {
    this.bounds = bounds;
    this.answers = new HeldAnswers({ memory: bounds.memory, bodyBytes: () => this.total });
    this.#common = bounds.maxBytes * commonShare;
  }

  /** Throws a Refusal where there is no room for `bytes` more of a body that has `held` already. */
  checkRoom(accountId: string, held: number, bytes: number): void {
    const { maxBytes, maxBytesPerAccount, memory } = this.bounds;
    const isSmall = held + bytes <= maxSmall;
    if (this.total + bytes > (isSmall ? maxBytes : this.#common)) throw bodiesTooMany("the gateway");
    if (!isSmall && memory?.hasRoom(this.total + this.answers.bytes, bytes) === false)
      throw bodiesTooMany("the gateway");
    if ((this.#byAccount.get(accountId) ?? 0) + bytes > maxBytesPerAccount) throw bodiesTooMany("the account");
  }

  change(accountId: string, bytes: number): void {
    this.total += bytes;
    const left = (this.#byAccount.get(accountId) ?? 0) + bytes;
    if (left > 0) this.#byAccount.set(accountId, left);
    else this.#byAccount.delete(accountId);
    if (bytes < 0) this.answers.look();
  }
}

/** A class, because every call has one. */
class Share implements BodyShare {
  readonly #bodies: HeldBodies;
  readonly #accountId: string;
  #held = 0;
  #isReleased = false;
  /** Undefined where none was opened. */
  #answers: HeldAnswer[] | undefined;
  #hasAnswered = false;

  constructor(bodies: HeldBodies, accountId: string) {
    this.#bodies = bodies;
    this.#accountId = accountId;
  }

  get bytes(): number {
    return this.#held;
  }

  get maxBytes(): number {
    return this.#bodies.bounds.maxBytesEach;
  }

  add(bytes: number): void {
    if (this.#isReleased) return;
    this.#bodies.checkRoom(this.#accountId, this.#held, bytes);
    this.#held += bytes;
    this.#bodies.change(this.#accountId, bytes);
  }

  remove(bytes: number): void {
    const removed = Math.min(bytes, this.#held);
    this.#held -= removed;
    if (removed > 0) this.#bodies.change(this.#accountId, -removed);
  }

  grow(bytes: number, param?: string): void {
    const { maxBytes } = this;
    if (this.#held + bytes > maxBytes) throw expandedTooLarge(maxBytes, param);
    this.add(bytes);
  }

  growTo(bytes: number, param?: string): void {
    this.grow(Math.max(0, bytes - this.#held), param);
  }

  openAnswer(waiting?: AnswerWaiting): AnswerRoom {
    const answer = new HeldAnswer(this.#bodies.answers, waiting);
    if (this.#hasAnswered) answer.release();
    else if (this.#answers) this.#answers.push(answer);
    else this.#answers = [answer];
    return answer;
  }

  releaseBody(): void {
    this.remove(this.#held);
    this.#isReleased = true;
  }

  release(): void {
    this.releaseBody();
    this.releaseAnswers();
  }

  releaseAnswers(): void {
    this.#hasAnswered = true;
    const answers = this.#answers;
    this.#answers = undefined;
    if (answers) for (const answer of answers) answer.release();
  }
}
