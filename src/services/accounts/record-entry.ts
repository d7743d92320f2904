/** Records recharges, refunds and grants in the ledger. */
import { EntryKind } from "../../../gen/modelgateway/v1/accounts_pb.ts";
import { conflict, invalidValue, type Refusal, resourceNotFound } from "../../call/refusals.ts";
import { formatDecimal } from "../../runtime/decimal.ts";
import { newId } from "../../runtime/ids.ts";
import { maxCredited } from "../../storage/money/bounds.ts";
import type { EntryStore, LedgerEntry } from "../../storage/money/entries.ts";

export interface RecordEntryInit {
  readonly accountId: string;
  readonly kind: EntryKind;
  /** amount is in millionths of the unit, more than 0. */
  readonly amount: number;
  /** unit is the code of the unit of money, such as "JPY". */
  readonly unit: string;
  readonly note: string | null;
  /** now is in milliseconds since 1970. */
  readonly now: number;
}

const recordable = [EntryKind.RECHARGE, EntryKind.REFUND, EntryKind.GRANT] as const;

/** creditedInFull refuses to credit an account whose keys could spend more in all than can be counted exactly. */
export function creditedInFull(unit: string): Refusal {
  return conflict("CREDITED_IN_FULL", { most: formatDecimal(maxCredited), unit });
}

/** recordEntry records an entry. Throws a Refusal if it cannot be recorded; then nothing is written. */
export async function recordEntry(entries: EntryStore, init: RecordEntryInit): Promise<LedgerEntry> {
  const { accountId, amount, unit, now } = init;
  const kind = recordable.find((one) => one === init.kind);
  if (kind === undefined) throw invalidValue("kind", "expected recharge, refund or grant");
  const recorded = await entries.record({ ...init, kind, id: newId("led", now) });
  if (recorded.kind === "recorded") return recorded.entry;
  if (recorded.kind === "absent") throw resourceNotFound("account", accountId, "account");
  if (recorded.kind === "full") throw creditedInFull(unit);
  const most = formatDecimal(recorded.available);
  throw conflict("REFUND_TOO_LARGE", { amount: formatDecimal(amount), most, unit });
}
