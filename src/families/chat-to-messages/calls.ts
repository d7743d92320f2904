/**
 * Follows the tool calls of a conversation: gives each an id that the Messages API takes and that is unique, and finds
 * the call that a result answers.
 *
 * Callers' ids may be missing, repeat from turn to turn, or hold signs that the API refuses.
 */
import { upstreamName } from "./names.ts";

interface OpenCall {
  readonly callerId: string;
  readonly id: string;
  /** The caller's name of the tool. */
  readonly name: string;
  answered: boolean;
}

export class Calls {
  readonly #used = new Set<string>();
  #made = 0;
  /** The calls of the assistant's last turn. */
  #turn: OpenCall[] = [];

  /** Returns the id of a call that is made; undefined where the same turn has a call of this id already. */
  begin(callerId: string, name: string): string | undefined {
    if (callerId !== "" && this.#turn.some((call) => call.callerId === callerId)) return undefined;
    this.#made += 1;
    const wished = callerId === "" ? `call_${this.#made}` : upstreamName(callerId);
    let id = wished;
    for (let n = 2; this.#used.has(id); n++) id = upstreamName(`${wished}_${n}`);
    this.#used.add(id);
    this.#turn.push({ callerId, id, name, answered: false });
    return id;
  }

  /**
   * Returns the id of the call that a result answers: by the caller's id; without one by the tool's name, or else the
   * oldest. Undefined where no such call waits for a result.
   */
  answer(callerId: string, name: string | undefined): string | undefined {
    const waiting = this.#turn.filter(({ answered }) => !answered);
    const call =
      callerId === ""
        ? (waiting.find((call) => call.name === name) ?? waiting[0])
        : waiting.find((call) => call.callerId === callerId);
    if (call) call.answered = true;
    return call?.id;
  }

  /** Ends the turn; returns the ids of the calls that nobody answered. */
  end(): string[] {
    const waiting = this.#turn.filter(({ answered }) => !answered);
    this.#turn = [];
    return waiting.map(({ id }) => id);
  }
}
