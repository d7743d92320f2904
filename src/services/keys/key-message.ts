/** Builds the API message of a key: with the secret in the answer that created it, masked everywhere else. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { ApiKeySchema } from "../../../gen/modelgateway/v1/keys_pb.ts";
import type { ApiKey } from "../../storage/keys.ts";
import { limitOf } from "../../storage/money/bounds.ts";
import type { BudgetStore } from "../../storage/money/budget-store.ts";
import { type BudgetMessages, keyBudgets } from "../accounts/budget-messages.ts";
import { limitFields } from "./key-limits.ts";

/** KeyMessage is the message of a key. */
type KeyMessage = MessageInitShape<typeof ApiKeySchema>;

/** keyMessages builds the messages of keys with their budgets. `now` is in milliseconds since 1970. */
export async function keyMessages(budgets: BudgetStore, keys: readonly ApiKey[], now: number): Promise<KeyMessage[]> {
  const standing = await keyBudgets(budgets, keys, now);
  return keys.map((key) => keyMessage(key, now, standing));
}

/** shownKey builds the message of a key with its budgets. `now` is in milliseconds since 1970. */
export async function shownKey(budgets: BudgetStore, key: ApiKey, now: number, secret?: string): Promise<KeyMessage> {
  return keyMessage(key, now, await keyBudgets(budgets, [key], now), secret);
}

/** keyMessage builds a key's message. `now` is in milliseconds since 1970, `budgets` has those of the key if it has any. */
function keyMessage(key: ApiKey, now: number, budgets: BudgetMessages, secret?: string): KeyMessage {
  const previousUntil = key.previous_expires_at;
  const limit = limitOf(key);
  return {
    id: key.id,
    name: key.name,
    secretMask: key.secret_mask,
    ...(secret === undefined ? {} : { secret }),
    ...(limit === null ? {} : { creditLimit: BigInt(limit) }),
    spent: BigInt(key.spent),
    held: BigInt(key.held),
    models: key.models === null ? [] : (JSON.parse(key.models) as string[]),
    isAdmin: key.is_admin === 1,
    disabled: key.disabled === 1,
    createdAt: timestampFromMs(key.created_at),
    ...(key.expires_at === null ? {} : { expiresAt: timestampFromMs(key.expires_at) }),
    ...(key.last_used_at === null ? {} : { lastUsedAt: timestampFromMs(key.last_used_at) }),
    ...(previousUntil === null || previousUntil <= now
      ? {}
      : { previousSecretExpiresAt: timestampFromMs(previousUntil) }),
    budgets: [...(budgets.get(key.id) ?? [])],
    ...limitFields(key),
  };
}
