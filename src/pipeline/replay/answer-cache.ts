/** AnswerCache keeps answers in memory, bounded in bytes and in time. The least recently used answers make room. */
import { LRUCache } from "lru-cache";
import { createRoom, type RecordedAnswer, type Room } from "./recorded-answer.ts";

export interface CachedAnswer {
  readonly recorded: RecordedAnswer;
  /** The catalogue's id of the model that answered, and whether it had a price. */
  readonly model: string;
  readonly isPriced: boolean;
  /** What it cost at first, in millionths of the unit. */
  readonly cost: number;
  /** The header `x-gateway-dropped` of the answer. */
  readonly dropped: string | undefined;
  /** When it was answered, in milliseconds since 1970. */
  readonly at: number;
}

export interface AnswerCache {
  find(key: string): CachedAnswer | undefined;
  keep(key: string, answer: CachedAnswer): void;
  /** The longest answer that is kept, in bytes. */
  readonly maxAnswerBytes: number;
  /** The memory for answers that are being recorded: as much again as the cache may hold. */
  readonly room: Room;
  bytes(): number;
  /** The number of answers. */
  entries(): number;
}

export interface AnswerCacheOptions {
  readonly maxBytes: number;
  readonly keepMs: number;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
}

/** No answer takes a larger share of the cache. */
const largestShare = 1 / 8;

/** The bytes that an entry takes besides the answer. */
const overhead = 512;

export function createAnswerCache({ maxBytes, keepMs, clock }: AnswerCacheOptions): AnswerCache {
  const answers = new LRUCache<string, CachedAnswer>({
    maxSize: maxBytes,
    sizeCalculation: ({ recorded }) => recorded.length + overhead,
    ttl: keepMs,
    perf: { now: clock },
    // The clock is cheap, so that the cache need not remember the time.
    ttlResolution: 0,
  });
  return {
    find: (key) => answers.get(key),
    keep: (key, answer) => void answers.set(key, answer),
    maxAnswerBytes: Math.floor(maxBytes * largestShare),
    room: createRoom(maxBytes),
    bytes: () => answers.calculatedSize,
    entries: () => answers.size,
  };
}
