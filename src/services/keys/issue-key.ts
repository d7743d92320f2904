/** Creates API keys, for administrators of the account, for the operator and for the demo. */
import { conflict } from "../../call/refusals.ts";
import { newId } from "../../runtime/ids.ts";
import { hashKeySecret, maskKeySecret, newKeySecret } from "../../runtime/secrets.ts";
import { type ApiKey, defaultMaxKeys, type KeyStore } from "../../storage/keys.ts";
import type { KeyLimitChange } from "./key-limits.ts";

export interface IssueKeyInit {
  readonly accountId: string;
  readonly name: string;
  readonly admin: boolean;
  /** now is in milliseconds since 1970. */
  readonly now: number;
  /** creditLimit is the most that the key may spend, in millionths of the unit. Default: no limit of its own. */
  readonly creditLimit?: number | null | undefined;
  /** models are the permitted models as a JSON list of ids and `family:name`. Default: all. */
  readonly models?: string | null | undefined;
  /** expiresAt is in milliseconds since 1970. Default: never. */
  readonly expiresAt?: number | null | undefined;
  /** budgets are the key's budgets as they are stored. Default: none. */
  readonly budgets?: string | null | undefined;
  /** limits are further limits, tags and the owner. Default: none. */
  readonly limits?: KeyLimitChange | undefined;
  /** maxKeys is the most keys of an account. */
  readonly maxKeys?: number | undefined;
}

/**
 * issueKey creates and stores a key. It returns the secret, which cannot be read again. Throws a Refusal if the
 * account has all the keys it may have.
 */
export async function issueKey(keys: KeyStore, init: IssueKeyInit): Promise<{ key: ApiKey; secret: string }> {
  const { creditLimit = null, models = null, expiresAt = null, budgets = null, limits = {} } = init;
  const { maxKeys = defaultMaxKeys } = init;
  const secret = newKeySecret();
  const key: ApiKey = {
    id: newId("key", init.now),
    account_id: init.accountId,
    name: init.name,
    secret_hash: hashKeySecret(secret),
    secret_mask: maskKeySecret(secret),
    is_admin: init.admin ? 1 : 0,
    created_at: init.now,
    credit_limit: creditLimit,
    models,
    expires_at: expiresAt,
    revoked_at: null,
    spent: 0,
    held: 0,
    disabled: 0,
    last_used_at: null,
    previous_hash: null,
    previous_expires_at: null,
    budgets,
    requests_per_minute: limits.requests_per_minute ?? null,
    tokens_per_minute: limits.tokens_per_minute ?? null,
    model_rates: limits.model_rates ?? null,
    max_concurrent: limits.max_concurrent ?? null,
    allowed_ips: limits.allowed_ips ?? null,
    tags: limits.tags ?? null,
    owner: limits.owner ?? null,
  };
  if (!(await keys.insert(key, maxKeys))) {
    throw conflict("KEYS_FULL", { most: String(maxKeys) });
  }
  return { key, secret };
}
