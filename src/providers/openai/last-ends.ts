/**
 * Tells a choice's end once, behind all that it says. Some servers and proxies write an end into every chunk, or one before the last words:
 * clients stop reading there. So a frame that ends a choice waits for the next one: where a choice of it goes on, the frame passes without
 * its ends, and otherwise as it came. What says nothing of an ended choice, as its usage, waits behind it.
 */
import type { DescMessage, JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isObject } from "../../wire/json.ts";
import { Wire } from "../../wire/wire.ts";
import { saysSomething } from "./choices.ts";

/** HeldFrame is a frame that waits: with the end of at least one of its choices, or behind such a one. */
interface HeldFrame {
  readonly frame: Wire;
  readonly choices: readonly JsonValue[];
  /** The choices that end in it or say something, or all where none does, by index. */
  readonly active: ReadonlySet<JsonValue>;
  /** Whether no choice says a word in it, as with most ends. */
  readonly isMere: boolean;
}

/** mostHeld is how many frames wait at most: as many as a request may ask for choices. Beyond that the first pass. */
const mostHeld = 128;

export class LastEnds {
  /** In the order in which they came. */
  #held: readonly HeldFrame[] = [];
  /** The ends that were taken from their frames, by the index of their choice. */
  readonly #taken = new Map<JsonValue, JsonObject>();

  /** isWaiting is whether the next frame has to be looked at. */
  get isWaiting(): boolean {
    return this.#held.length > 0;
  }

  /** take returns what the caller sees now that a frame has come whose choices are these. */
  take<O extends DescMessage>(frame: Wire<O>, choices: readonly JsonValue[]): Wire<O> | readonly Wire<O>[] {
    const ends = choices.filter(isEnd);
    if (ends.length === 0 && this.#held.length === 0) return frame;
    const said = choices.filter((choice) => isObject(choice) && saysSomething(choice));
    const isSilent = ends.length + said.length === 0;
    const active = indexesOf(isSilent ? choices : [...ends, ...said]);
    const before = [...(isSilent ? [] : this.#released(active)), ...this.#passed(choices)];
    const waits = ends.length > 0 || (isSilent && this.#held.some((held) => !held.active.isDisjointFrom(active)));
    if (!waits) return [...before, frame] as unknown as Wire<O>[];
    for (const index of indexesOf(ends)) this.#taken.delete(index);
    const held = { frame: frame as unknown as Wire, choices, active, isMere: said.length === 0 };
    const all = [...this.#held, held];
    this.#held = all.slice(-mostHeld);
    return [...before, ...all.slice(0, -mostHeld).map((first) => first.frame)] as unknown as Wire<O>[];
  }

  /** #passed returns the held frames of mere ends when another choice goes on: they keep their place before it. */
  #passed(choices: readonly JsonValue[]): Wire[] {
    const next = indexesOf(choices);
    if (next.size === 0 || this.#taken.size > 0) return [];
    const passed = this.#held.filter(({ active, isMere }) => isMere && active.isDisjointFrom(next));
    if (passed.length > 0) this.#held = this.#held.filter((held) => !passed.includes(held));
    return passed.map(({ frame }) => frame);
  }

  /** #released returns, without their ends, the held frames of which a choice has gone on: all that is said keeps its order. */
  #released(active: ReadonlySet<JsonValue>): Wire[] {
    const released = this.#held.filter((held) => !held.active.isDisjointFrom(active));
    if (released.length > 0) this.#held = this.#held.filter((held) => !released.includes(held));
    return released.map((held) => this.#withoutEnds(held));
  }

  #withoutEnds({ frame, choices }: HeldFrame): Wire {
    const open = choices.map((choice) => {
      if (!isObject(choice) || !isEnd(choice)) return choice;
      const { native_finish_reason: native = null, finish_reason = null, index = 0, ...rest } = choice;
      const own = native === null ? {} : { native_finish_reason: native };
      this.#taken.set(index, { finish_reason, ...own });
      return { ...rest, index, finish_reason: null };
    });
    return frame.with({ choices: open });
  }

  /**
   * unended returns what still waits, where a failure comes instead of more. What is said beside an end may not have been all, so it has
   * none then; a mere end was one, unless the server goes on behind ends.
   */
  unended<O extends DescMessage>(): readonly Wire<O>[] {
    const isEnded = this.#taken.size === 0;
    const frames = this.#held.map((held) => (held.isMere && isEnded ? held.frame : this.#withoutEnds(held)));
    this.#held = [];
    return frames as unknown as Wire<O>[];
  }

  /** rest returns what still waits, at the stream's end: an end that was taken from its frame stands in a chunk of its own, with this head. */
  rest<O extends DescMessage>(desc: O, head: JsonObject, isText: boolean): readonly Wire<O>[] {
    const held = this.#held.map(({ frame }) => frame) as unknown as Wire<O>[];
    const said = isText ? { text: "" } : { delta: {} };
    const choices = [...this.#taken].map(([index, end]): JsonObject => ({ index, ...said, logprobs: null, ...end }));
    this.#held = [];
    this.#taken.clear();
    return choices.length === 0 ? held : [...held, Wire.ofJson(desc, { ...head, choices }, true)];
  }
}

function indexesOf(choices: readonly JsonValue[]): Set<JsonValue> {
  return new Set(choices.flatMap((choice) => (isObject(choice) ? (choice.index ?? 0) : [])));
}

function isEnd(choice: JsonValue): boolean {
  return isObject(choice) && (choice.finish_reason ?? null) !== null;
}
