/**
 * What addresses say behind their question mark: which requests a list keeps. What an address says wrongly is left out.
 */

/** Filters of a list of requests, as the address has them. */
export interface RequestSearch {
  /** `key_…` */
  readonly key?: string;
  readonly model?: string;
  /** A word of Outcome, as `answered`. */
  readonly outcome?: string;
  /** Days, as `2026-01-31`, in the reader's time zone; both are within. */
  readonly from?: string;
  readonly to?: string;
  /** `acc_…` or a name; of the operator's list only. */
  readonly account?: string;
}

export interface AuditSearch {
  readonly account?: string;
  readonly action?: string;
}

export function readRequestSearch(search: Record<string, unknown>): RequestSearch {
  return pick(search, ["key", "model", "outcome", "from", "to", "account"]);
}

export function readAuditSearch(search: Record<string, unknown>): AuditSearch {
  return pick(search, ["account", "action"]);
}

function pick(search: Record<string, unknown>, names: readonly string[]): Record<string, string> {
  const entries = names.map((name) => [name, search[name]] as const);
  return Object.fromEntries(
    entries.filter((entry): entry is readonly [string, string] => typeof entry[1] === "string" && entry[1] !== ""),
  );
}
