/** What a connection remembers of the last response on it: in memory alone, for as long as it is open and there is room. */
import type { Remembered, RememberedConversation } from "../../call/call.ts";
import type { BodyBudget, BodyShare } from "../body/body-budget.ts";

export class ConnectionMemory implements Remembered {
  readonly #room: BodyBudget;
  readonly #accountId: string;
  #share: BodyShare | undefined;
  #responseId: string | undefined;
  #conversation: RememberedConversation | undefined;
  #isOver = false;

  constructor(room: BodyBudget, accountId: string) {
    this.#room = room;
    this.#accountId = accountId;
  }

  find(responseId: string): RememberedConversation | undefined {
    return responseId === this.#responseId ? this.#conversation : undefined;
  }

  /** What there is no room for is forgotten: its client is told that the response is not found, and sends the conversation. */
  keep(responseId: string, conversation: RememberedConversation): void {
    this.#forget();
    if (this.#isOver) return;
    const share = this.#room.open(this.#accountId);
    try {
      for (const piece of conversation.pieces) share.grow(Buffer.byteLength(piece));
    } catch {
      share.release();
      return;
    }
    this.#share = share;
    this.#responseId = responseId;
    this.#conversation = conversation;
  }

  /** Forgets it, and remembers nothing from now on. */
  end(): void {
    this.#isOver = true;
    this.#forget();
  }

  #forget(): void {
    this.#share?.release();
    this.#share = this.#responseId = this.#conversation = undefined;
  }
}
