/**
 * Tracks the tool calls of a conversation: gives each a valid, unique id, and finds the call that a result answers.
 *
 * Callers' ids may be missing, repeat from turn to turn, or have characters that the API refuses. Lookups do not scan
 * all calls, of which there may be thousands.
 */
import { upstreamName } from "../tool-names.ts";

interface OpenCall {
  readonly callerId: string;
  readonly id: string;
  /** The caller's name of the tool. */
  readonly name: string;
  answered: boolean;
}

/** CallQueue holds calls in order. It does not look again at those before the oldest open one. */
class CallQueue {
  readonly #calls: OpenCall[] = [];
  #from = 0;

  add(call: OpenCall): void {
    this.#calls.push(call);
  }

  /** Returns the oldest call without a result. */
  oldest(): OpenCall | undefined {
    while (this.#calls[this.#from]?.answered) this.#from++;
    return this.#calls[this.#from];
  }

  waiting(): OpenCall[] {
    return this.#calls.filter(({ answered }) => !answered);
  }
}

/** CallsOfTurn holds the calls of one turn of the assistant. */
class CallsOfTurn {
  readonly all = new CallQueue();
  readonly byCallerId = new Map<string, OpenCall>();
  readonly byName = new Map<string, CallQueue>();

  add(call: OpenCall): void {
    this.all.add(call);
    if (call.callerId !== "") this.byCallerId.set(call.callerId, call);
    const named = this.byName.get(call.name) ?? new CallQueue();
    named.add(call);
    this.byName.set(call.name, named);
  }
}

export class Calls {
  readonly #used = new Set<string>();
  /** By preferred id: how many calls have preferred it. */
  readonly #timesPreferred = new Map<string, number>();
  #made = 0;
  /** The assistant's last turn. */
  #turn = new CallsOfTurn();

  /** Returns the id of a new call; undefined where the same turn has a call with this id already. */
  begin(callerId: string, name: string): string | undefined {
    if (callerId !== "" && this.#turn.byCallerId.has(callerId)) return undefined;
    this.#made += 1;
    const id = this.#unused(callerId === "" ? `call_${this.#made}` : upstreamName(callerId));
    this.#used.add(id);
    this.#turn.add({ callerId, id, name, answered: false });
    return id;
  }

  #unused(preferred: string): string {
    let n = (this.#timesPreferred.get(preferred) ?? 0) + 1;
    let id = n === 1 ? preferred : upstreamName(`${preferred}_${n}`);
    while (this.#used.has(id)) id = upstreamName(`${preferred}_${++n}`);
    this.#timesPreferred.set(preferred, n);
    return id;
  }

  /**
   * Returns the id of the call that a result answers: by the caller's id; without one by the tool's name, else the
   * oldest open call. Undefined where no such call is open.
   */
  answer(callerId: string, name: string | undefined): string | undefined {
    const { all, byCallerId, byName } = this.#turn;
    const named = name === undefined ? undefined : byName.get(name)?.oldest();
    const call = callerId === "" ? (named ?? all.oldest()) : byCallerId.get(callerId);
    if (!call || call.answered) return undefined;
    call.answered = true;
    return call.id;
  }

  /** Ends the turn. Returns the ids of the calls without a result. */
  end(): string[] {
    const waiting = this.#turn.all.waiting();
    this.#turn = new CallsOfTurn();
    return waiting.map(({ id }) => id);
  }
}
