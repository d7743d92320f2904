/** Answers kept in memory, up to so many bytes and for so long: those that were not asked for longest make room. */
import { LRUCache } from "lru-cache";
import { createRoom, type Room } from "./recorded-answer.ts";

export interface KeptAnswer {
  /** As `recorded-answer.ts` packs it. */
  readonly packed: Buffer;
  /** The model that answered, by the catalogue's id, and whether it had a price. */
  readonly model: string;
  readonly isPriced: boolean;
  /** What it cost at first, in millionths of the unit. */
  readonly cost: number;
  /** What was left out on the way to its upstream: the header `x-gateway-dropped`. */
  readonly dropped: string | undefined;
  /** When it was answered, in milliseconds since 1970. */
  readonly at: number;
}

export interface AnswerCache {
  find(key: string): KeptAnswer | undefined;
  keep(key: string, answer: KeptAnswer): void;
  /** The longest answer that is kept, in bytes. */
  readonly mostBytes: number;
  /** Where answers are recorded that may be kept: as much again as is kept. */
  readonly room: Room;
  /** How much it holds, in bytes. */
  bytes(): number;
  /** How many answers it holds. */
  entries(): number;
}

export interface AnswerCacheOptions {
  readonly maxBytes: number;
  readonly keepMs: number;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
}

/** No answer takes more than this part of the room of all. */
const largestShare = 1 / 8;

/** What an answer takes besides its own bytes: its key, and its place among the others. */
const overhead = 512;

export function createAnswerCache({ maxBytes, keepMs, clock }: AnswerCacheOptions): AnswerCache {
  const answers = new LRUCache<string, KeptAnswer>({
    maxSize: maxBytes,
    sizeCalculation: ({ packed }) => packed.length + overhead,
    ttl: keepMs,
    perf: { now: clock },
    // The clock is cheap to ask: it need not be remembered by a timer.
    ttlResolution: 0,
  });
  return {
    find: (key) => answers.get(key),
    keep: (key, answer) => void answers.set(key, answer),
    mostBytes: Math.floor(maxBytes * largestShare),
    room: createRoom(maxBytes),
    bytes: () => answers.calculatedSize,
    entries: () => answers.size,
  };
}
