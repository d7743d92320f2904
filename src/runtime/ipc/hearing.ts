/**
 * Hears whether the other side of a link stands still: it is asked again and again, and any answer will do. One that is gone is not silent:
 * what it was asked is refused at once.
 */
import { ClosedError } from "./channel.ts";
import { createSilence, startLooking } from "./silence.ts";

export interface Hearing {
  /** Returns for how long the other side has not answered, in milliseconds, by the time in which it could have been heard. */
  silentMs(): number;
  /** Calls `listener` when the other side has been silent for `silentAfterMs`, and when it is heard again. Returns what ends that. */
  onChange(listener: () => void): () => void;
  /**
   * Settles as `asked` does, but rejects with a ClosedError once the other side has been silent for `maxMs` milliseconds. It may come to
   * what was asked later all the same, of which `late` is told then.
   */
  whileHeard<T>(asked: PromiseLike<T>, maxMs: number, late?: (value: T) => void): PromiseLike<T>;
}

/** pingMs is how often it is asked, in milliseconds. */
const pingMs = 250;
/** silentAfterMs is from when on it counts as standing still, in milliseconds. */
export const silentAfterMs = 1_000;

/**
 * createHearing creates what tells whether the other side still answers. `isOpen` reports whether there is another side, and `ping` asks it.
 */
export function createHearing(isOpen: () => boolean, ping: () => PromiseLike<unknown>): Hearing {
  const silence = createSilence();
  const waits = createWaits();
  const listeners = new Set<() => void>();
  let wasSilent = false;
  let isAsked = false;
  let askedAt = Number.NEGATIVE_INFINITY;

  function heard(): void {
    isAsked = false;
    silence.heard();
    tell();
  }

  function tell(): void {
    const isSilent = silence.ms() >= silentAfterMs;
    if (isSilent === wasSilent) return;
    wasSilent = isSilent;
    for (const listener of listeners) listener();
  }

  function look(): void {
    if (!isOpen()) {
      heard();
      return;
    }
    silence.look();
    tell();
    waits.look(silence.ms());
    if (isAsked || performance.now() - askedAt < pingMs) return;
    [isAsked, askedAt] = [true, performance.now()];
    ping().then(heard, heard);
  }

  startLooking({ look });
  return {
    silentMs: silence.ms,
    onChange(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    whileHeard: waits.add,
  };
}

interface Wait {
  readonly maxMs: number;
  readonly giveUp: () => void;
}

/** createWaits keeps what is waited for. `look` gives up what is not to be waited for in so long a silence. */
function createWaits() {
  const waits = new Set<Wait>();
  const add: Hearing["whileHeard"] = (asked, maxMs, late) =>
    new Promise((resolve, reject) => {
      let isLate = false;
      const giveUp = () => {
        isLate = true;
        waits.delete(wait);
        reject(new ClosedError());
      };
      const wait: Wait = { maxMs, giveUp };
      waits.add(wait);
      asked.then(
        (value) => {
          waits.delete(wait);
          if (isLate) late?.(value);
          else resolve(value);
        },
        (error) => {
          waits.delete(wait);
          reject(error);
        },
      );
    });
  return {
    add,
    look(silentMs: number): void {
      for (const { maxMs, giveUp } of waits) if (silentMs >= maxMs) giveUp();
    },
  };
}
