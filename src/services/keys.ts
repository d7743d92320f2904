/** API keys: how one is made. */
import { newId } from "../ids.ts";
import { hashKeySecret, maskKeySecret, newKeySecret } from "../secrets.ts";
import type { ApiKey, KeyStore } from "../storage/keys.ts";

export interface IssueKeyInit {
  readonly accountId: string;
  readonly name: string;
  readonly admin: boolean;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** Makes and keeps a key. The secret is returned here and never again. */
export async function issueKey(keys: KeyStore, init: IssueKeyInit): Promise<{ key: ApiKey; secret: string }> {
  const secret = newKeySecret();
  const key: ApiKey = {
    id: newId("key", init.now),
    account_id: init.accountId,
    name: init.name,
    secret_hash: hashKeySecret(secret),
    secret_mask: maskKeySecret(secret),
    is_admin: init.admin ? 1 : 0,
    created_at: init.now,
    revoked_at: null,
  };
  await keys.insert(key);
  return { key, secret };
}
