/** What a call has reserved, as its process knows it. */
import type { Slotted } from "../runtime/slot-set.ts";
import type { Held, HoldEntry, HoldInit } from "../storage/money/ledger.ts";
import type { Lease, Payer } from "./leases.ts";

/** What a call asks to be held, and of whom. */
export type HoldRequest = Omit<HoldInit, "node" | "expiresAt"> & Payer;

/** Whoever has it may settle its call, or free it: once. */
export interface Hold extends Slotted {
  readonly kind: "held";
  readonly wish: HoldRequest;
  readonly amount: number;
  /** Where it was taken from; undefined once it is a hold of its own. */
  lease: Lease | undefined;
  /** Whether the database decided: then it decides of the charge, too. */
  isExact: boolean;
}

/** Tells that nothing was reserved, and what is left of what. */
export type Short = Extract<Held, { kind: "short" }>;

/** Whether its key has a limit of its own, or may have been given one since it was read. */
export function mayBeLimited({ isLimited, asOf }: Payer, version: number): boolean {
  return isLimited || asOf !== version;
}

/** The hold that a call is to get in the place of what it has taken; undefined for one that has its own. */
export function holdOf(reserved: Hold): HoldEntry | undefined {
  const { wish, amount, lease } = reserved;
  if (!lease) return undefined;
  const { taken } = lease;
  const { requestId, accountId, keyId, operation, model, now: createdAt } = wish;
  return { kind: "hold", requestId, taken, accountId, keyId, operation, model, amount, createdAt };
}
