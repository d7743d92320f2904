/**
 * Redeem codes: codes that recharge the account that claims them.
 *
 * One conditional statement claims a code, so that of all concurrent attempts, in any number of processes, one succeeds; the
 * recharge is in the same transaction. Only the SHA-256 of a code is stored.
 */
import type { Selectable } from "kysely";
import { changed, type Scope, stated } from "../engines/scope.ts";
import type { RedeemCodeTable } from "../schema.ts";
import { type Recorded, record } from "./entries.ts";

export type RedeemCode = Selectable<RedeemCodeTable>;

/** NewRedeemCode is a code to add, which is unclaimed. */
export type NewRedeemCode = Omit<RedeemCode, "claimed_at" | "claimed_by" | "revoked_at">;

export interface Claim {
  readonly codeHash: string;
  readonly accountId: string;
  /** The id that the recharge gets. */
  readonly entryId: string;
  /** now is in milliseconds since 1970. */
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
  insert(codes: readonly NewRedeemCode[]): Promise<void>;
  claim(claim: Claim): Promise<Claimed>;
  /** Lists some codes, newest first. */
  page(filter: CodeFilter): Promise<RedeemCode[]>;
  /** Revokes the unclaimed codes of a batch. Resolves to how many; undefined where there is no such batch. */
  revoke(batchId: string, now: number): Promise<number | undefined>;
}

/** batch is how many codes a statement adds, at most: the database bounds the values of one. */
const batch = 500;

export function redeemCodeStore({ db, transact }: Scope): RedeemCodeStore {
  return {
    insert: (codes) =>
      transact(async ({ db }) => {
        for (let at = 0; at < codes.length; at += batch)
          await db
            .insertInto("redeem_codes")
            .values(codes.slice(at, at + batch))
            .execute();
      }),
    claim: (init) => transact((scope) => claim(scope, init)),
    page: ({ batchId, before, limit }) =>
      db
        .selectFrom("redeem_codes")
        .selectAll()
        .where((is) => is.and(stated({ batch_id: batchId })))
        .$if(before !== undefined, (query) => query.where("id", "<", before as string))
        .orderBy("id", "desc")
        .limit(limit)
        .execute(),
    async revoke(batchId, now) {
      const revoked = await changed(
        db,
        db
          .updateTable("redeem_codes")
          .set({ revoked_at: now })
          .where("batch_id", "=", batchId)
          .where("claimed_at", "is", null)
          .where("revoked_at", "is", null),
      );
      if (revoked > 0) return revoked;
      const some = db.selectFrom("redeem_codes").select("id").where("batch_id", "=", batchId).limit(1);
      return (await some.executeTakeFirst()) ? 0 : undefined;
    },
  };
}

async function claim({ db }: Scope, { codeHash, accountId, entryId, now }: Claim): Promise<Claimed> {
  const code = await db
    .updateTable("redeem_codes")
    .set({ claimed_at: now, claimed_by: accountId })
    .where("code_hash", "=", codeHash)
    .where("claimed_at", "is", null)
    .where("revoked_at", "is", null)
    .where((either) => either.or([either("expires_at", "is", null), either("expires_at", ">", now)]))
    .returningAll()
    .executeTakeFirst();
  if (!code) {
    const known = db.selectFrom("redeem_codes").select("claimed_at").where("code_hash", "=", codeHash);
    return { kind: ((await known.executeTakeFirst())?.claimed_at ?? null) === null ? "none" : "claimed" };
  }
  const { amount, note } = code;
  const recorded = await record(db, { id: entryId, accountId, kind: 1, amount, note, now });
  if (recorded.kind === "recorded") return recorded;
  const unclaimed = { claimed_at: null, claimed_by: null };
  await db.updateTable("redeem_codes").set(unclaimed).where("code_hash", "=", codeHash).execute();
  return recorded;
}
