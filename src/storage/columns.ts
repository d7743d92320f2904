/**
 * The columns of a call's row, each said once. Statements, journal lines, sums and messages are made of this table.
 *
 * CONTRIBUTING.md says how to add one. A name or a place never changes: databases, and journal files that no process has
 * posted yet, have them.
 */

export interface CallColumn {
  /** Its name in SQL, and of the member of a row. */
  readonly name: string;
  /** Its type in SQL: text is a string here, the others are numbers. */
  readonly type: "text" | "integer" | "bigint";
  readonly isNullable?: true;
  /** The value of a call that states none. Without a default each call has to state one. */
  readonly default?: 0 | "" | null;
  /** Its place in a journal line. Unset for what is decided when the row is written, and has its default for all calls of the journal. */
  readonly journal?: Place;
  /** Adds it up by hour, key and model. */
  readonly isSummed?: true;
  /** The field of the proto's Request that it becomes; `usage.` leads to a field of its Usage, which sums have too. */
  readonly field: string;
  /** False for what the table of comma-separated values leaves out. */
  readonly isInCsv?: boolean;
}

/**
 * A place in a journal line: in the values that consecutive calls share, or in those of one call. The shared ones are those of
 * the first version, and no others come to them; what is added later goes behind the last of a call's own.
 */
type Place = readonly [part: "shared" | "own", index: number];

const shared = (index: number): Place => ["shared", index];
const own = (index: number): Place => ["own", index];

/** callColumns are the columns of a call's row, in the order of the table of comma-separated values. */
export const callColumns = [
  { name: "id", type: "text", journal: own(0), field: "id" },
  { name: "account_id", type: "text", journal: shared(0), field: "account_id", isInCsv: false },
  // When the call came. Times are milliseconds since 1970.
  { name: "created_at", type: "bigint", journal: own(9), field: "created_at" },
  { name: "key_id", type: "text", journal: own(1), field: "key_id" },
  { name: "operation", type: "text", journal: shared(1), field: "operation" },
  { name: "model", type: "text", journal: shared(2), field: "model" },
  { name: "upstream", type: "text", journal: shared(3), field: "upstream" },
  // A number of the proto's Outcome.
  { name: "outcome", type: "integer", journal: shared(5), field: "outcome" },
  // Tokens and characters, in parts that do not overlap; reasoning is a part of the output.
  { name: "input", type: "bigint", journal: own(2), field: "usage.input_tokens", isSummed: true },
  { name: "cache_read", type: "bigint", journal: own(3), field: "usage.cache_read_tokens", isSummed: true },
  { name: "cache_write", type: "bigint", journal: own(4), field: "usage.cache_write_tokens", isSummed: true },
  { name: "output", type: "bigint", journal: own(5), field: "usage.output_tokens", isSummed: true },
  { name: "reasoning", type: "bigint", journal: own(6), field: "usage.reasoning_tokens", isSummed: true },
  { name: "characters", type: "bigint", journal: own(7), field: "usage.characters", isSummed: true },
  // 1 where the usage was counted by the gateway, for the upstream reported none.
  { name: "estimated", type: "integer", journal: shared(6), field: "estimated" },
  // `cost` is charged. `waived` is the rest of what the call cost, and nobody pays it. In millionths of the unit.
  { name: "cost", type: "bigint", journal: own(8), field: "cost", isSummed: true },
  { name: "waived", type: "bigint", default: 0, journal: own(16), field: "waived", isSummed: true },
  { name: "duration_ms", type: "bigint", journal: own(10), field: "duration_ms" },
  // Null where no byte came.
  { name: "first_byte_ms", type: "bigint", isNullable: true, journal: own(11), field: "first_byte_ms" },
  // The attempts that failed before the last one, as a JSON list; null for none.
  { name: "tried", type: "text", isNullable: true, default: null, journal: shared(4), field: "tried", isInCsv: false },
  // 1 where the answer came from the cache, and no upstream was asked.
  { name: "cached", type: "integer", default: 0, journal: shared(7), field: "cached" },
  // The part of `cache_write` that was written for an hour.
  {
    name: "cache_write_hour",
    type: "bigint",
    default: 0,
    journal: own(12),
    field: "usage.cache_write_hour_tokens",
    isSummed: true,
  },
  // 1 where the upstream reported usage that cannot be true, and the gateway's own count stood in its place.
  { name: "implausible", type: "integer", default: 0, journal: own(13), field: "implausible" },
  // The card in `prices` that all of it was charged by; null where there are several, or none, or the version was older.
  { name: "price_id", type: "text", isNullable: true, default: null, journal: own(14), field: "price_id" },
  // What the columns above do not say of how it was charged (`ledger/reprice.ts`), as a JSON list; null for most calls.
  {
    name: "price_parts",
    type: "text",
    isNullable: true,
    default: null,
    journal: own(15),
    field: "price_parts",
    isInCsv: false,
  },
] as const satisfies readonly CallColumn[];

type Column = (typeof callColumns)[number];
type ValueOf<C> = C extends { type: "text" } ? OrNull<C, string> : OrNull<C, number>;
type OrNull<C, V> = C extends { isNullable: true } ? V | null : V;
type InJournal = Extract<Column, { journal: Place }>;
type Optional = Extract<InJournal, { default: unknown }>;

/** CallRow is the row of a call that has ended. */
export type CallRow = { readonly [C in Column as C["name"]]: ValueOf<C> };

/**
 * Capture is a call that has ended, as the ledger charges it: `cost` is what it should be charged, and `waived` what it cost beyond its
 * hold, as far as that is known before.
 */
export type Capture = { readonly [C in Exclude<InJournal, Optional> as C["name"]]: ValueOf<C> } & {
  readonly [C in Optional as C["name"]]?: ValueOf<C>;
};

export type ColumnName = Column["name"];
export type SummedColumn = Extract<Column, { isSummed: true }>["name"];

const columns: readonly CallColumn[] = callColumns;

export const columnNames = namesOf(columns) as readonly ColumnName[];
export const summedColumns = namesOf(columns.filter(({ isSummed }) => isSummed)) as readonly SummedColumn[];
/** noSums are what a call that used nothing adds to the sums. */
export const noSums = Object.fromEntries(summedColumns.map((name) => [name, 0])) as Record<SummedColumn, 0>;
/** sharedColumns are the columns of each part of a journal line, by their places. */
export const sharedColumns = columnsIn("shared");
export const ownColumns = columnsIn("own");

/** defaultOf returns the value of a column for a call that states none. */
export function defaultOf(name: ColumnName): 0 | "" | null | undefined {
  return columns.find((column) => column.name === name)?.default;
}

function columnsIn(part: Place[0]): readonly (keyof Capture)[] {
  const places = columns.flatMap(({ name, journal }) => (journal?.[0] === part ? [{ name, index: journal[1] }] : []));
  places.sort((one, other) => one.index - other.index);
  const gap = places.findIndex(({ index }, i) => index !== i);
  if (gap !== -1) throw new Error(`the ${part} columns of a journal line have none, or two, at place ${gap}`);
  return namesOf(places) as readonly (keyof Capture)[];
}

function namesOf(named: readonly { readonly name: string }[]): readonly string[] {
  return named.map(({ name }) => name);
}
