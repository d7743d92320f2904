/** Parses the queries of addresses: the filters of lists of calls. Invalid values are ignored. */
import type { DaySpan } from "./parts/day-spans.ts";

/** RequestSearch is the filters of a list of calls, as in the address. */
export interface RequestSearch {
  /** key is `key_…`. */
  readonly key?: string;
  readonly model?: string;
  /** outcome is an outcome's public name, such as `answered`. */
  readonly outcome?: string;
  readonly upstream?: string;
  readonly tag?: string;
  /** from and to are days such as `2026-01-31` in the reader's time zone, both included. */
  readonly from?: string;
  readonly to?: string;
  /** account is `acc_…` or a name; in the operator's list only. */
  readonly account?: string;
  /** view is `refused` for the calls that were refused. */
  readonly view?: string;
  /** reason is the name of a Reason, such as `RATE_LIMITED`; of refused calls only. */
  readonly reason?: string;
}

/** isFiltered reports whether an address selects some calls only. */
export function isFiltered({ view: _, ...filters }: RequestSearch): boolean {
  return Object.keys(filters).length > 0;
}

/** unfiltered returns the address of all calls of the same view. */
export function unfiltered({ view }: RequestSearch): RequestSearch {
  return view === undefined ? {} : { view };
}

export interface AuditSearch {
  readonly account?: string;
  readonly action?: string;
  /** actor is `usr_…`, `key_…`, an e-mail address, or a kind such as `command_line`. */
  readonly actor?: string;
  /** from and to are days, as those of a RequestSearch. */
  readonly from?: string;
  readonly to?: string;
}

/** AccountSearch is the filters and the order of the operator's list of accounts, as in the address. */
export interface AccountSearch {
  /** find is what the accounts are searched for. */
  readonly find?: string;
  readonly tier?: string;
  /** below is an amount of money that balances are below, such as `12.5`. */
  readonly below?: string;
  /** state is `active` or `suspended`. */
  readonly state?: string;
  /** activity is `active` or `idle`, in the days from `from` to `to`. */
  readonly activity?: string;
  /** order is such as `spent-desc`. */
  readonly order?: string;
  readonly from?: string;
  readonly to?: string;
}

export function readAccountSearch(search: Record<string, unknown>): AccountSearch {
  return pick(search, ["find", "tier", "below", "state", "activity", "order", "from", "to"]);
}

export interface KeySearch {
  /** find is what the keys are searched for. */
  readonly find?: string;
  /** create opens the form of a new key. */
  readonly create?: true;
}

export function readKeySearch({ create, ...search }: Record<string, unknown>): KeySearch {
  return { ...pick(search, ["find"]), ...(create === true ? { create } : {}) };
}

export interface UserSearch {
  /** find is what the users are searched for. */
  readonly find?: string;
}

export function readUserSearch(search: Record<string, unknown>): UserSearch {
  return pick(search, ["find"]);
}

export function readRequestSearch(search: Record<string, unknown>): RequestSearch {
  return pick(search, ["key", "model", "upstream", "tag", "outcome", "from", "to", "account", "view", "reason"]);
}

export function readAuditSearch(search: Record<string, unknown>): AuditSearch {
  return pick(search, ["account", "action", "actor", "from", "to"]);
}

/** changed returns an address with another value of this name; null and the empty text take the name out of it. */
export function changed<S extends object>(search: S, name: keyof S, value: string | null): S {
  const { [name]: _, ...others } = search;
  return (value ? { ...others, [name]: value } : others) as S;
}

/** onDays returns an address with these days in place of its own. */
export function onDays<S extends Partial<DaySpan>>(search: S, days: Partial<DaySpan>): S {
  const { from: _, to: __, ...undated } = search;
  return { ...undated, ...days } as S;
}

/** pick returns what an address has of these names: texts that are not empty. */
export function pick(search: Record<string, unknown>, names: readonly string[]): Record<string, string> {
  const entries = names.map((name) => [name, search[name]] as const);
  return Object.fromEntries(
    entries.filter((entry): entry is readonly [string, string] => typeof entry[1] === "string" && entry[1] !== ""),
  );
}
