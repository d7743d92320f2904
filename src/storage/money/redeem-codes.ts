/**
 * Redeem codes: codes that recharge the account that claims them.
 *
 * One conditional statement claims a code, so that of all concurrent attempts, in any number of processes, one succeeds; the
 * recharge is in the same transaction. Only the SHA-256 of a code is stored.
 */
import type { Selectable } from "kysely";
import type { Database, Engine } from "../engines/engine.ts";
import type { RedeemCodeTable } from "../schema.ts";
import type { EntryStore, Recorded } from "./entries.ts";

export type RedeemCode = Selectable<RedeemCodeTable>;

/** NewRedeemCode is a code to add, which is unclaimed. */
export type NewRedeemCode = Omit<RedeemCode, "claimed_at" | "claimed_by" | "revoked_at">;

export interface Claim {
  readonly codeHash: string;
  readonly accountId: string;
  /** The id that the recharge gets. */
  readonly entryId: string;
  /** Milliseconds since 1970. */
  readonly now: number;
}

export type Claimed =
  | Recorded
  /** The code was claimed before. */
  | { readonly kind: "claimed" }
  /** There is no such code, or it has expired or was revoked. */
  | { readonly kind: "none" };

export interface CodeFilter {
  readonly batchId?: string | undefined;
  /** Selects codes before this id. */
  readonly before?: string | undefined;
  readonly limit: number;
}

export interface RedeemCodeStore {
  /** Adds all codes of a batch, or none. */
  insert(codes: readonly NewRedeemCode[]): void;
  claim(claim: Claim): Claimed;
  /** Lists some codes, newest first. */
  page(filter: CodeFilter): RedeemCode[];
  /** Revokes the unclaimed codes of a batch. Returns how many; undefined where there is no such batch. */
  revoke(batchId: string, now: number): number | undefined;
}

export function redeemCodeStore(db: Database, engine: Engine, entries: EntryStore): RedeemCodeStore {
  const claim = engine.prepare<[now: number, accountId: string, codeHash: string, now: number], RedeemCode>(
    `UPDATE redeem_codes SET claimed_at = ?, claimed_by = ? WHERE code_hash = ? AND claimed_at IS NULL
     AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?) RETURNING *`,
  );
  const unclaim = engine.prepare<[codeHash: string]>(
    "UPDATE redeem_codes SET claimed_at = NULL, claimed_by = NULL WHERE code_hash = ?",
  );
  const known = engine.prepare<[codeHash: string], RedeemCode>("SELECT * FROM redeem_codes WHERE code_hash = ?");

  function claimed({ codeHash, accountId, entryId, now }: Claim): Claimed {
    const code = claim.get(now, accountId, codeHash, now);
    if (!code) return { kind: (known.get(codeHash)?.claimed_at ?? null) === null ? "none" : "claimed" };
    const { amount, note } = code;
    const recorded = entries.record({ id: entryId, accountId, kind: 1, amount, note, now });
    if (recorded.kind !== "recorded") unclaim.run(codeHash);
    return recorded;
  }

  return {
    insert: (codes) =>
      engine.transact(() => {
        for (const code of codes) engine.run(db.insertInto("redeem_codes").values(code));
      }),
    claim: (init) => engine.transact(() => claimed(init)),
    page: ({ batchId, before, limit }) =>
      engine.all(
        db
          .selectFrom("redeem_codes")
          .selectAll()
          .$if(batchId !== undefined, (query) => query.where("batch_id", "=", batchId as string))
          .$if(before !== undefined, (query) => query.where("id", "<", before as string))
          .orderBy("id", "desc")
          .limit(limit),
      ),
    revoke(batchId, now) {
      const revoked = engine.run(
        db
          .updateTable("redeem_codes")
          .set({ revoked_at: now })
          .where("batch_id", "=", batchId)
          .where("claimed_at", "is", null)
          .where("revoked_at", "is", null),
      );
      if (revoked > 0) return revoked;
      const some = db.selectFrom("redeem_codes").select("id").where("batch_id", "=", batchId).limit(1);
      return engine.all(some).length === 0 ? undefined : 0;
    },
  };
}
