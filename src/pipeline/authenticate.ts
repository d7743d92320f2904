/**
 * Says who calls, by the API key in the headers.
 *
 * A key that is unknown or revoked is refused with the same words. A revocation holds from the next call, also
 * when another process made it: the key is read from the database every time.
 */
import type { Arrival, Caller } from "../call.ts";
import { invalidApiKey, missingApiKey } from "../errors.ts";
import { hashKeySecret } from "../secrets.ts";
import type { KeyStore } from "../storage/keys.ts";

export type Authenticate = (arrival: Arrival) => Promise<Caller>;

export function createAuthenticate(keys: KeyStore): Authenticate {
  return async ({ header }) => {
    const credentials = credentialsOf(header);
    if (credentials.length === 0) throw missingApiKey();
    for (const secret of credentials) {
      const key = await keys.findBySecretHash(hashKeySecret(secret));
      if (key && key.revoked_at === null) {
        return { accountId: key.account_id, keyId: key.id, admin: key.is_admin === 1 };
      }
    }
    throw invalidApiKey();
  };
}

/**
 * Returns what may be our key, in the forms that clients send: `Authorization: Bearer <key>`, the bare key in
 * `Authorization`, and `x-api-key`. Some send a foreign token in one and ours in the other: both are tried.
 */
export function credentialsOf(header: Arrival["header"]): string[] {
  const authorization = header("authorization")?.trim() ?? "";
  const bearer = /^bearer(?:\s+(.*))?$/is.exec(authorization);
  const secrets = [bearer ? (bearer[1] ?? "") : authorization, header("x-api-key")?.trim() ?? ""];
  return [...new Set(secrets.filter((secret) => secret !== ""))];
}
