/** Has the log tell when writes begin to fail, by what, and when they work again. */
import type { Parts } from "./parts.ts";

/** Returns what ends that. */
export function logTrouble({ storage, log }: Pick<Parts, "storage" | "log">): () => void {
  const { writable } = storage;
  return writable.onChange(() => {
    const why = writable.trouble();
    if (why === undefined) log.info("the storage can be written again");
    else log.error({ why }, "the storage cannot be written: calls that need it are refused");
  });
}
