/** Holds and captures, as the ledger, its books and readers know them. Money is in millionths of the unit. */

import type { BudgetLeft } from "./budgets.ts";

export type { Capture } from "../columns.ts";
export type { BudgetLeft, BudgetTerms } from "./budgets.ts";

export interface HoldInit {
  readonly requestId: string;
  /** The process that makes it. */
  readonly node: string;
  readonly accountId: string;
  readonly keyId: string;
  readonly operation: string;
  readonly model: string;
  /** The most that the call may cost. */
  readonly max: number;
  /** The least that is of use to the call. */
  readonly min: number;
  /** now is in milliseconds since 1970. */
  readonly now: number;
  readonly expiresAt: number;
}

export type Held =
  /** `budget` is the budget that the hold leaves least of, where there is any. */
  | { readonly kind: "held"; readonly amount: number; readonly budget?: BudgetLeft }
  /**
   * `available` is what is left of the balance, the limit, or the budget that is named, whichever is too little. Of a `key` that is revoked, or
   * that there is not, nothing is.
   */
  | {
      readonly kind: "short";
      readonly of: "balance" | "limit" | "budget" | "key";
      readonly available: number;
      readonly budget?: BudgetLeft;
    };

/** lacksCredit reports whether a hold is short of what leases that come back may have. */
export function lacksCredit(granted: { readonly kind: string; readonly of?: string }): boolean {
  return granted.kind === "short" && (granted.of === "balance" || granted.of === "limit");
}

/** Captured is what a call was charged. */
export interface Captured {
  readonly cost: number;
  /** waived is what it cost beyond that, and nobody pays: more than was held for it, or than was left. */
  readonly waived: number;
}

/** Available is what may still be spent, and whether the key's limit or the account's balance bounds it. */
export interface Available {
  readonly of: "limit" | "balance";
  /** Infinite where neither bounds it. */
  readonly available: number;
}
