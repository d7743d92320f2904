/** The leases that a worker has, as its owner knows them: by their ids, and by their accounts. */

export interface HeldLeases {
  add(id: string, accountId: string): void;
  remove(id: string): void;
  /** Reports whether there is one of this account, or any at all for an empty id. */
  hasOf(accountId: string): boolean;
  all(): string[];
}

export function createHeldLeases(): HeldLeases {
  const accountOf = new Map<string, string>();
  const counts = new Map<string, number>();
  return {
    add(id, accountId) {
      if (accountOf.has(id)) return;
      accountOf.set(id, accountId);
      counts.set(accountId, (counts.get(accountId) ?? 0) + 1);
    },
    remove(id) {
      const accountId = accountOf.get(id);
      if (accountId === undefined) return;
      accountOf.delete(id);
      const left = (counts.get(accountId) ?? 0) - 1;
      if (left > 0) counts.set(accountId, left);
      else counts.delete(accountId);
    },
    hasOf: (accountId) => (accountId === "" ? accountOf.size > 0 : counts.has(accountId)),
    all: () => [...accountOf.keys()],
  };
}
