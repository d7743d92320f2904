/** How an API key is made: by its account's administrators, by the operator, and for the demo alike. */
import { conflict } from "../../call/refusals.ts";
import { newId } from "../../runtime/ids.ts";
import { hashKeySecret, maskKeySecret, newKeySecret } from "../../runtime/secrets.ts";
import { type ApiKey, defaultMaxKeys, type KeyStore } from "../../storage/keys.ts";

export interface IssueKeyInit {
  readonly accountId: string;
  readonly name: string;
  readonly admin: boolean;
  /** Milliseconds since 1970. */
  readonly now: number;
  /** What it may spend in its life, in millionths of the unit. Default: no limit of its own. */
  readonly creditLimit?: number | null | undefined;
  /** The models that it may use, as a JSON list of ids and `family:name`. Default: all. */
  readonly models?: string | null | undefined;
  /** From when on it is refused, in milliseconds since 1970. Default: never. */
  readonly expiresAt?: number | null | undefined;
  /** How many keys the account may have. */
  readonly maxKeys?: number | undefined;
}

/** Makes and keeps a key. The secret is returned here and never again. Throws a Refusal where the account is full. */
export function issueKey(keys: KeyStore, init: IssueKeyInit): { key: ApiKey; secret: string } {
  const { creditLimit = null, models = null, expiresAt = null, maxKeys = defaultMaxKeys } = init;
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
  };
  if (!keys.insert(key, maxKeys)) {
    throw conflict(`The account has ${maxKeys} API keys, as many as it may have. Delete one that is no longer used.`);
  }
  return { key, secret };
}
