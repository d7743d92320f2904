/**
 * createGrownCache returns a cache of at most so many entries, which forgets the one that was used longest ago. It takes memory for what is in
 * it: bounded by number alone, `lru-cache` takes at once what all of them would.
 */
import { LRUCache } from "lru-cache";

export function createGrownCache<V extends {}>(maxEntries: number): LRUCache<string, V> {
  return new LRUCache({ maxSize: maxEntries, sizeCalculation: () => 1 });
}
