/** Checks requests about keys beyond their contract: times, and what their other files check. */
import { timestampMs } from "@bufbuild/protobuf/wkt";
import type { CreditLimit, Expiry, UpdateKeyRequest } from "../../../gen/modelgateway/v1/keys_pb.ts";
import { invalidValue } from "../../call/refusals.ts";
import type { KeyChange } from "../../storage/keys.ts";
import type { Catalog } from "../../targets/catalog.ts";
import { readBudgetList } from "../accounts/budget-messages.ts";
import { refuseUnknown } from "../unknown-fields.ts";
import { readLimits } from "./key-limits.ts";
import { readPermissions } from "./key-permissions.ts";

/** endOfTime is the last millisecond that RFC 3339 can express. */
const endOfTime = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

/**
 * readCreditLimit returns the limit in millionths of the unit: null for no limit, undefined if the request omits it.
 */
export function readCreditLimit(limit: CreditLimit | undefined): number | null | undefined {
  if (!limit) return undefined;
  return limit.amount === undefined ? null : Number(limit.amount);
}

/** readExpiry returns the time in milliseconds since 1970: null for never, undefined if the request omits it. */
export function readExpiry(expiry: Expiry | undefined, now: number): number | null | undefined {
  if (!expiry) return undefined;
  if (!expiry.at) return null;
  const at = timestampMs(expiry.at);
  if (at <= now) throw invalidValue("expires_at", "expected a moment in the future");
  if (at > endOfTime) throw invalidValue("expires_at", "expected a moment before the year 10000");
  return at;
}

/**
 * readChange returns the fields that the request sets, without those it omits. `budgets` are those that the key has. Throws a Refusal.
 */
export function readChange(
  request: UpdateKeyRequest,
  catalog: Catalog,
  now: number,
  budgets: string | null,
): KeyChange {
  const { name, creditLimit, models, expiresAt, disabled, extra } = request;
  refuseUnknown(extra);
  return {
    name,
    credit_limit: readCreditLimit(creditLimit),
    models: models && readPermissions(models, catalog),
    expires_at: readExpiry(expiresAt, now),
    disabled: disabled === undefined ? undefined : Number(disabled),
    budgets: readBudgetList(request.budgets, budgets, { byOperator: false, now }),
    ...readLimits(request, catalog),
  };
}
