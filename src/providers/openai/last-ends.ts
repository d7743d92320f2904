/**
 * Tells a choice's end once, behind all that it says. Some servers and proxies write an end into every chunk, or one before the last words:
 * clients stop reading there. So a frame that ends a choice waits for the next one: where the choice goes on, the frame passes without its
 * end, and otherwise as it came.
 */
import type { DescMessage, JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isObject } from "../../wire/json.ts";
import { Wire } from "../../wire/wire.ts";
import { saysSomething } from "./choices.ts";

/** HeldFrame is a frame that waits with the ends of these choices, at least one. */
interface HeldFrame {
  readonly frame: Wire;
  readonly choices: readonly JsonValue[];
  readonly ends: ReadonlySet<JsonValue>;
  /** Whether it says nothing else, as most ends do. */
  readonly isMere: boolean;
}

export class LastEnds {
  /** At most one frame for each choice. */
  #held: readonly HeldFrame[] = [];
  /** The ends that were taken from their frames, by the index of their choice. */
  readonly #taken = new Map<JsonValue, JsonObject>();

  /** isWaiting is whether the next frame has to be looked at. */
  get isWaiting(): boolean {
    return this.#held.length > 0;
  }

  /** take returns what the caller sees now that a frame has come whose choices are these. */
  take<O extends DescMessage>(frame: Wire<O>, choices: readonly JsonValue[]): Wire<O> | readonly Wire<O>[] {
    const ends = endsIn(choices);
    if (ends.size === 0 && this.#held.length === 0) return frame;
    const goOn = choices.filter((choice) => isObject(choice) && (ends.has(choice.index ?? 0) || saysSomething(choice)));
    const before = [
      ...this.#released(new Set(goOn.map((choice) => (choice as JsonObject).index ?? 0))),
      ...this.#passed(choices),
    ];
    if (ends.size === 0) return [...before, frame] as unknown as Wire<O>[];
    const isMere = !choices.some((choice) => isObject(choice) && saysSomething(choice));
    this.#held = [...this.#held, { frame: frame as unknown as Wire, choices, ends, isMere }];
    for (const index of ends) this.#taken.delete(index);
    return before as unknown as Wire<O>[];
  }

  /** #passed returns the held frames of mere ends when another choice goes on: they keep their place before it. */
  #passed(choices: readonly JsonValue[]): Wire[] {
    const next = new Set(choices.map((choice) => (isObject(choice) ? (choice.index ?? 0) : null)));
    if (next.size === 0 || this.#taken.size > 0) return [];
    const passed = this.#held.filter(({ ends, isMere }) => isMere && ![...ends].some((index) => next.has(index)));
    if (passed.length > 0) this.#held = this.#held.filter((held) => !passed.includes(held));
    return passed.map(({ frame }) => frame);
  }

  /** #released returns the held frames that end nothing any more, once these choices have gone on. */
  #released(goOn: ReadonlySet<JsonValue>): Wire[] {
    if (goOn.size === 0 || this.#held.length === 0) return [];
    const kept: HeldFrame[] = [];
    const released: Wire[] = [];
    for (const held of this.#held) {
      const ends = new Set([...held.ends].filter((index) => !goOn.has(index)));
      const choices = ends.size === held.ends.size ? held.choices : this.#withoutEnds(held.choices, goOn);
      if (choices === held.choices) kept.push(held);
      else {
        const frame = held.frame.with({ choices: [...choices] });
        if (ends.size === 0) released.push(frame);
        else kept.push({ ...held, frame, choices, ends });
      }
    }
    this.#held = kept;
    return released;
  }

  #withoutEnds(choices: readonly JsonValue[], goOn: ReadonlySet<JsonValue>): JsonValue[] {
    return choices.map((choice) => {
      if (!isObject(choice) || !goOn.has(choice.index ?? 0) || !isEnd(choice)) return choice;
      const { native_finish_reason: native = null, finish_reason = null, index = 0, ...rest } = choice;
      const own = native === null ? {} : { native_finish_reason: native };
      this.#taken.set(index, { finish_reason, ...own });
      return { ...rest, index, finish_reason: null };
    });
  }

  /**
   * unended returns what still waits, where a failure comes instead of more. What is said beside an end may not have been all, so it has
   * none then; a mere end was one, unless the server goes on behind ends.
   */
  unended<O extends DescMessage>(): readonly Wire<O>[] {
    const isEnd = this.#taken.size === 0;
    const all = new Set(this.#held.flatMap(({ ends, isMere }) => (isMere && isEnd ? [] : [...ends])));
    const frames = [...this.#released(all), ...this.#held.map(({ frame }) => frame)];
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

function endsIn(choices: readonly JsonValue[]): Set<JsonValue> {
  const ends = new Set<JsonValue>();
  for (const choice of choices) if (isObject(choice) && isEnd(choice)) ends.add(choice.index ?? 0);
  return ends;
}

function isEnd({ finish_reason: reason = null }: JsonObject): boolean {
  return reason !== null;
}
