/** Remembers the conversation of the last response on a connection: in memory alone, while it is open and there is room. */
import type { Remembered, RememberedConversation } from "../../call/call.ts";
import type { BodyBudget, BodyShare } from "../body/body-budget.ts";

export class ConnectionMemory implements Remembered {
  readonly #room: BodyBudget;
  readonly #accountId: string;
  #share: BodyShare | undefined;
  #responseId: string | undefined;
  #conversation: RememberedConversation | undefined;
  #hasEnded = false;

  constructor(room: BodyBudget, accountId: string) {
    this.#room = room;
    this.#accountId = accountId;
  }

  find(responseId: string): RememberedConversation | undefined {
    return responseId === this.#responseId ? this.#conversation : undefined;
  }

  /** A conversation without room is not remembered. Its client gets a 404 for the response, and sends the conversation again. */
  keep(responseId: string, conversation: RememberedConversation): void {
    this.#forget();
    if (this.#hasEnded) return;
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

  /** Forgets the conversation, and remembers nothing from now on. */
  end(): void {
    this.#hasEnded = true;
    this.#forget();
  }

  #forget(): void {
    this.#share?.release();
    this.#share = this.#responseId = this.#conversation = undefined;
  }
}
