/** Counts what a node asks of the database for money, for its operators. All but `kept` are totals since the start. */

export interface BatchCounts {
  readonly batches: number;
  readonly items: number;
  /** The time from sending a batch to its answer, of all batches. */
  readonly seconds: number;
}

export interface Counts {
  /** Runs what sends a batch of so many items, and counts it once it is answered. */
  batch<T>(kind: "decide" | "write", items: number, send: () => Promise<T>): Promise<T>;
  /** repeated says that work is done again, after a conflict or over another connection. */
  repeated(): void;
  /** recalled says that other nodes are asked for their leases of so many accounts. */
  recalled(accounts: number): void;
  /** keep says that so many more records are kept on this machine; fewer where it is below 0. */
  keep(records: number): void;
  batches(): { readonly decide: BatchCounts; readonly write: BatchCounts };
  repeats(): number;
  recalls(): number;
  /** Returns how many records are kept on this machine now. */
  kept(): number;
}

export function createCounts(): Counts {
  const none: BatchCounts = { batches: 0, items: 0, seconds: 0 };
  const batches = { decide: none, write: none };
  let [repeats, recalls, kept] = [0, 0, 0];
  return {
    async batch(kind, items, send) {
      const begin = performance.now();
      const answer = await send();
      const before = batches[kind];
      batches[kind] = {
        batches: before.batches + 1,
        items: before.items + items,
        seconds: before.seconds + (performance.now() - begin) / 1000,
      };
      return answer;
    },
    repeated() {
      repeats++;
    },
    recalled(accounts) {
      recalls += accounts;
    },
    keep(records) {
      kept += records;
    },
    batches: () => batches,
    repeats: () => repeats,
    recalls: () => recalls,
    kept: () => kept,
  };
}
