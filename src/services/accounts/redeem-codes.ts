/**
 * Redeem codes: `XXXXX-XXXXX-XXXXX-XXXXX`, 100 random bits in Crockford's base 32. Only the SHA-256 is stored.
 *
 * People type codes by hand: case, hyphens and spaces are ignored, and letters that look like a digit count as that
 * digit.
 */
import { hash, randomBytes } from "node:crypto";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { RedeemCodeSchema } from "../../../gen/modelgateway/v1/operator_pb.ts";
import { newId } from "../../runtime/ids.ts";
import type { NewRedeemCode, RedeemCode, RedeemCodeStore } from "../../storage/money/redeem-codes.ts";

const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

export interface BatchInit {
  /** amount is the value of each code, in millionths of the unit. */
  readonly amount: number;
  readonly count: number;
  /** expiresAt is in milliseconds since 1970; null for never. */
  readonly expiresAt: number | null;
  readonly note: string | null;
  readonly now: number;
}

/** issueRedeemCodes creates and stores a batch. It returns its id and the codes, which cannot be read again. */
export async function issueRedeemCodes(
  store: RedeemCodeStore,
  init: BatchInit,
): Promise<{ readonly id: string; readonly codes: string[] }> {
  const { amount, count, expiresAt, note, now } = init;
  const id = newId("bat", now);
  const codes = Array.from({ length: count }, newCode);
  await store.insert(
    codes.map((code): NewRedeemCode => {
      const kept = { code_hash: hashRedeemCode(code), code_mask: `${code.slice(0, 4)}…` };
      return {
        id: newId("cod", now),
        batch_id: id,
        ...kept,
        amount,
        note,
        created_at: now,
        expires_at: expiresAt,
      };
    }),
  );
  return { id, codes };
}

function newCode(): string {
  const letters = Array.from(randomBytes(20), (byte) => alphabet[byte & 31]).join("");
  return letters.replace(/.{5}(?!$)/g, "$&-");
}

/** hashRedeemCode returns the stored hash of a code, whatever its case and separators. */
export function hashRedeemCode(text: string): string {
  const normal = text.toUpperCase().replace(/[\s-]/g, "").replaceAll("O", "0").replace(/[IL]/g, "1");
  return hash("sha256", normal, "hex");
}

export function codeMessage(code: RedeemCode): MessageInitShape<typeof RedeemCodeSchema> {
  const { id, batch_id, code_mask, amount, note, created_at, expires_at, claimed_at, claimed_by, revoked_at } = code;
  return {
    id,
    batchId: batch_id,
    mask: code_mask,
    amount: BigInt(amount),
    createdAt: timestampFromMs(created_at),
    ...(note === null ? {} : { note }),
    ...(expires_at === null ? {} : { expiresAt: timestampFromMs(expires_at) }),
    ...(claimed_at === null ? {} : { claimedAt: timestampFromMs(claimed_at) }),
    ...(claimed_by === null ? {} : { claimedBy: claimed_by }),
    ...(revoked_at === null ? {} : { revokedAt: timestampFromMs(revoked_at) }),
  };
}
