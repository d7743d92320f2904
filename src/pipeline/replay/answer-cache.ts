/** AnswerCache keeps answers in memory, bounded in bytes and in time. The least recently used answers make room. */
import { LRUCache } from "lru-cache";
import { createRoom, type RecordedAnswer, type Room } from "./recorded-answer.ts";

export interface CachedAnswer {
  readonly recorded: RecordedAnswer;
  /** The catalogue's id of the model that answered, and whether it had a price. */
  readonly model: string;
  readonly isPriced: boolean;
  /** cost is what it cost at first, in millionths of the unit. */
  readonly cost: number;
  /** The header `x-gateway-dropped` of the answer. */
  readonly dropped: string | undefined;
  /** at is when it was answered, in milliseconds since 1970. */
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
  /** All answers by their keys, the least recently used first. */
  answers(): readonly (readonly [key: string, answer: CachedAnswer])[];
}

export interface CacheSettings {
  readonly maxBytes: number;
  readonly keepMs: number;
}

export interface AnswerCacheOptions {
  /** Returns undefined where no answers are kept; another object once that has changed. */
  readonly settings: () => { readonly cache: CacheSettings | undefined };
  /** clock returns milliseconds since 1970. */
  readonly clock: () => number;
}

/** No answer takes a larger share of the cache. */
const largestShare = 1 / 8;

/** The bytes that an entry takes besides the answer. */
const overhead = 512;

/**
 * createAnswerCache returns what finds the cache as it is to be now. One of another size has the answers of the one before, as many as it
 * may.
 */
export function createAnswerCache({ settings, clock }: AnswerCacheOptions): () => AnswerCache | undefined {
  let made: AnswerCache | undefined;
  let madeBy: CacheSettings | undefined;
  return () => {
    const { cache: wanted } = settings();
    if (wanted === madeBy) return made;
    madeBy = wanted;
    made = wanted && cacheOf(wanted, clock, made?.answers() ?? []);
    return made;
  };
}

function cacheOf(
  { maxBytes, keepMs }: CacheSettings,
  clock: () => number,
  before: ReturnType<AnswerCache["answers"]>,
): AnswerCache {
  const answers = new LRUCache<string, CachedAnswer>({
    maxSize: maxBytes,
    sizeCalculation: ({ recorded }) => recorded.length + overhead,
    ttl: keepMs,
    perf: { now: clock },
    // The clock is cheap, so that the cache need not remember the time.
    ttlResolution: 0,
  });
  const now = clock();
  for (const [key, answer] of before) {
    const ttl = keepMs - (now - answer.at);
    if (ttl > 0) answers.set(key, answer, { ttl });
  }
  return {
    find: (key) => answers.get(key),
    keep: (key, answer) => void answers.set(key, answer),
    maxAnswerBytes: Math.floor(maxBytes * largestShare),
    room: createRoom(maxBytes),
    bytes: () => answers.calculatedSize,
    entries: () => answers.size,
    answers: () => [...answers.entries()].reverse(),
  };
}
