/** Applies records call by call, so that a call that cannot be written keeps no other from being written. */
import { isFault } from "../../../../runtime/write-trouble.ts";
import { type BooksOptions, callIdOf, type Entry, type JournalRecord } from "../../../money/books.ts";
import type { BooksParts } from "./parts.ts";

interface EachOptions extends Pick<BooksOptions, "node" | "onError"> {
  readonly records: readonly JournalRecord[];
  readonly expiresAt: number;
}

/** applyEach applies records, in the caller's transaction. Entries of a call that cannot be written are set aside. */
export function applyEach({ records, node, expiresAt, onError }: EachOptions, parts: BooksParts): void {
  const { engine, apply, rows } = parts;
  const entries = records.flatMap((record) => record.entries.map((entry) => ({ record, entry })));
  const calls = Map.groupBy(entries, ({ entry }) => callIdOf(entry));
  const rejected = new Map<JournalRecord, Entry[]>();
  for (const own of calls.values()) {
    try {
      const ofCall = own.map(({ entry }) => entry);
      engine.books.transact(() => apply(ofCall, node, expiresAt));
    } catch (error) {
      if (!isFault(error)) throw error;
      onError(error);
      const { record } = own.at(-1) as (typeof own)[number];
      rejected.set(record, [...(rejected.get(record) ?? []), ...own.map(({ entry }) => entry)]);
    }
  }
  for (const [{ seq, at }, aside] of rejected) rows.setAside(node, seq, at, aside);
}
