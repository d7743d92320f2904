/**
 * Checks whether a line has the shape of a record. Of what would be counted wrongly, or could not even be taken apart, one line
 * is rejected, and not its file. Values that the database alone refuses are found there, call by call.
 */
import { type ColumnName, ownColumns, sharedColumns } from "../columns.ts";

/** LineJson is what a line holds, as far as it is JSON. */
export type LineJson = { readonly [name in "seq" | "at" | "settled" | "held" | "others" | "entries"]?: unknown };

/**
 * firstOwnLength is how many values of its own a call had in the first lines of lists. Columns that came later are behind them, or missing.
 */
const firstOwnLength = 12;
/** entryLength is how many values follow the shared columns: `isHeld`, `isLimited`, the lease's id, and whether it is the key's. */
const entryLength = 4;

/** faultOf returns what is wrong with a record, in words that repeat nothing of it; undefined for a record in order. */
export function faultOf({ seq, at, settled, held, others, entries }: LineJson): string | undefined {
  if (!isNumber(seq)) return "its number is none";
  if (at !== undefined && !Number.isFinite(at)) return "its time is none";
  if (entries !== undefined) return faultOfAll(entries);
  if (settled === undefined && held === undefined && others === undefined) return "it tells of no calls";
  return (
    faultOfRuns(settled, faultOfRun) ??
    faultOfRuns(held, faultOfHolds) ??
    (others === undefined ? undefined : faultOfAll(others))
  );
}

function faultOfRuns(runs: unknown = [], faultOfOne: (run: unknown) => string | undefined): string | undefined {
  if (!Array.isArray(runs)) return "it tells of no calls";
  for (const run of runs) {
    const fault = faultOfOne(run);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function faultOfHolds(run: unknown): string | undefined {
  if (!Array.isArray(run) || !run.every(Array.isArray)) return "its holds are no lists";
  const [shared = [], ...holds] = run as readonly (readonly unknown[])[];
  const [accountId, operation, model, leaseId, isOfKey] = shared;
  if (shared.length !== 5 || ![accountId, operation, model].every(isText))
    return "what its holds have in common is none";
  if (!isTaken({ leaseId, isOfKey })) return "its lease is none";
  const isHold = ([requestId, keyId, amount, createdAt]: readonly unknown[]) =>
    isText(requestId) && isText(keyId) && isAmount(amount, leaseId) && Number.isFinite(createdAt);
  return holds.every((own) => own.length === 4 && isHold(own)) ? undefined : "one of its holds has another shape";
}

/** Reports whether a hold's amount may be so: what is of no lease holds nothing. */
const isAmount = (amount: unknown, leaseId: unknown) => isCount(amount) && (leaseId !== "" || amount === 0);
const isText = (value: unknown) => typeof value === "string";

function faultOfRun(run: unknown): string | undefined {
  if (!Array.isArray(run) || !run.every(Array.isArray)) return "its calls are no lists";
  const [shared, ...calls] = run as readonly (readonly unknown[])[];
  if (shared?.length !== sharedColumns.length + entryLength) return "what its calls have in common has another length";
  const [account, leaseId, isOfKey] = [valueIn(shared, "account_id"), shared.at(-2), shared.at(-1)];
  if (typeof account !== "string") return "its account is no text";
  if (leaseId !== null && !isTaken({ leaseId, isOfKey })) return "its lease is none";
  for (const own of calls) {
    if (own.length < firstOwnLength || own.length > ownColumns.length) return "one of its calls has another length";
    const [id, key_id, cost] = [valueIn(own, "id"), valueIn(own, "key_id"), valueIn(own, "cost")];
    const fault = faultOfCall({ id, account_id: account, key_id, cost, waived: valueIn(own, "waived") });
    if (fault !== undefined) return fault;
  }
  return undefined;
}

const places: ReadonlyMap<ColumnName, number> = new Map(
  [sharedColumns, ownColumns].flatMap((names) => names.map((name, i) => [name, i] as const)),
);

function valueIn(values: readonly unknown[], name: ColumnName): unknown {
  return values[places.get(name) ?? -1];
}

function faultOfAll(entries: unknown): string | undefined {
  if (!Array.isArray(entries)) return "its entries are no list";
  for (const entry of entries) {
    const fault = faultOfEntry((entry ?? {}) as Partial<Record<string, unknown>>);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function faultOfEntry({ kind, call, taken, requestId, amount }: Partial<Record<string, unknown>>): string | undefined {
  if (kind === "settle") {
    if (taken !== undefined && !isTaken(taken)) return "its lease is none";
    return faultOfCall((call ?? {}) as Partial<Record<string, unknown>>);
  }
  if (kind !== "free" && kind !== "hold") return "an entry is of no kind that is known";
  if (typeof requestId !== "string") return "an entry is of no call";
  const isOfNone = taken === undefined && amount === 0;
  return kind === "hold" && !(isOfNone || (isTaken(taken) && isCount(amount)))
    ? "a hold has no amount, or is of no lease"
    : undefined;
}

function faultOfCall({
  id,
  account_id,
  key_id,
  cost,
  waived = 0,
}: Partial<Record<string, unknown>>): string | undefined {
  if (![id, account_id, key_id].every((name) => typeof name === "string")) return "a call has no name, account or key";
  return isCount(cost) && isCount(waived) ? undefined : "the cost of a call is no whole number of millionths";
}

function isTaken(taken: unknown): boolean {
  const { leaseId, isOfKey } = (taken ?? {}) as Partial<Record<string, unknown>>;
  return typeof leaseId === "string" && typeof isOfKey === "boolean";
}

/** isNumber reports whether a value may be the number of a record, from 1 on. */
export function isNumber(seq: unknown): seq is number {
  return isCount(seq) && seq !== 0;
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
