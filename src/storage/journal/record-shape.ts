/**
 * Whether a line has the shape of a note: of what would be counted wrongly, or could not even be taken apart, one line is set
 * aside, and not its file. What only the database does not take is found there, call by call.
 */

/** What a line holds, as far as it is JSON. */
export type Told = { readonly [name in "seq" | "at" | "settled" | "others" | "entries"]?: unknown };

/** How many values tell what calls have in common, and how many what is a call's own. */
const [commonLength, ownLength] = [12, 12];

/** Returns what is wrong with a note, in words that repeat nothing of it; undefined for one in order. */
export function faultOf({ seq, at, settled, others = [], entries }: Told): string | undefined {
  if (!isNumber(seq)) return "its number is none";
  if (at !== undefined && !Number.isFinite(at)) return "its time is none";
  if (entries !== undefined) return faultOfAll(entries);
  if (!Array.isArray(settled)) return "it tells of no calls";
  for (const alike of settled) {
    const fault = faultOfAlike(alike);
    if (fault !== undefined) return fault;
  }
  return faultOfAll(others);
}

function faultOfAlike(alike: unknown): string | undefined {
  if (!Array.isArray(alike) || !alike.every(Array.isArray)) return "its calls are no lists";
  const [common, ...calls] = alike as readonly (readonly unknown[])[];
  if (common?.length !== commonLength) return "what its calls have in common has another length";
  const [account, leaseId, isOfKey] = [common[0], common[10], common[11]];
  if (typeof account !== "string") return "its account is no text";
  if (leaseId !== null && !isTaken({ leaseId, isOfKey })) return "its lease is none";
  for (const own of calls) {
    if (own.length !== ownLength) return "one of its calls has another length";
    const fault = faultOfCall({ id: own[0], account_id: account, key_id: own[1], cost: own[8] });
    if (fault !== undefined) return fault;
  }
  return undefined;
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
  return kind === "hold" && !(isTaken(taken) && isCount(amount))
    ? "a hold has no amount, or is of no lease"
    : undefined;
}

function faultOfCall({ id, account_id, key_id, cost }: Partial<Record<string, unknown>>): string | undefined {
  if (![id, account_id, key_id].every((name) => typeof name === "string")) return "a call has no name, account or key";
  return isCount(cost) ? undefined : "the cost of a call is no whole number of millionths";
}

function isTaken(taken: unknown): boolean {
  const { leaseId, isOfKey } = (taken ?? {}) as Partial<Record<string, unknown>>;
  return typeof leaseId === "string" && typeof isOfKey === "boolean";
}

/** Whether it may be the number of a note, from 1 on. */
export function isNumber(seq: unknown): seq is number {
  return isCount(seq) && seq !== 0;
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
