/**
 * CallPairs finds the result of each call of a conversation, and gives each call an id that no other has in its turn, or in the
 * conversation. Servers of small models number the calls of each turn anew, and some models write one id for all calls of a turn. Lookups
 * do not scan all calls.
 */

export interface CallPair<R> {
  /** The id that the call came with, where no earlier one has that. */
  readonly id: string;
  /** undefined until a result has come. */
  result: R | undefined;
}

/** CallsOfId are the calls of one turn that came with the same id. */
interface CallsOfId<R> {
  readonly turn: number;
  /** The oldest comes first. */
  readonly pairs: CallPair<R>[];
  /** answered is how many have a result. */
  answered: number;
}

export class CallPairs<R> {
  readonly #used = new Set<string>();
  readonly #timesUsed = new Map<string, number>();
  readonly #byId = new Map<string, CallsOfId<R>>();
  readonly #uniqueIn: "turn" | "conversation";
  #turn = 0;

  constructor(uniqueIn: "turn" | "conversation") {
    this.#uniqueIn = uniqueIn;
  }

  /** Begins another turn of the model's. */
  beginTurn(): void {
    this.#turn += 1;
    if (this.#uniqueIn === "conversation") return;
    this.#used.clear();
    this.#timesUsed.clear();
  }

  begin(id: string): CallPair<R> {
    const pair = { id: this.#unused(id), result: undefined };
    this.#used.add(pair.id);
    const known = this.#byId.get(id);
    // An id that comes again in a later turn is another call's.
    const calls = known?.turn === this.#turn ? known : { turn: this.#turn, pairs: [], answered: 0 };
    calls.pairs.push(pair);
    this.#byId.set(id, calls);
    return pair;
  }

  /** Returns the call that a result answers, by the id that both came with: of several the oldest without one. */
  answer(id: string, result: R): CallPair<R> | undefined {
    const calls = this.#byId.get(id);
    const pair = calls?.pairs[calls.answered];
    if (!calls || !pair) return undefined;
    calls.answered += 1;
    pair.result = result;
    return pair;
  }

  #unused(id: string): string {
    let times = (this.#timesUsed.get(id) ?? 0) + 1;
    let own = times === 1 ? id : `${id}_${times}`;
    while (this.#used.has(own)) own = `${id}_${++times}`;
    this.#timesUsed.set(id, times);
    return own;
  }
}
