/** Reads the credentials that a call carries in its headers: what may be an API key, or the operator's. */
import { timingSafeEqual } from "node:crypto";
import type { Arrival } from "../../call/call.ts";
import { hashKeySecret } from "../../runtime/secrets.ts";

export interface Credential {
  readonly secretHash: string;
  readonly isOperators: boolean;
}

/** CredentialsIn returns the credentials of a call, in the order in which they are tried. */
export type CredentialsIn = (arrival: Pick<Arrival, "header" | "sameHeaders">) => readonly Credential[];

/** createCredentialsIn returns what finds the credentials of a call. `operatorKey` is undefined where none is configured. */
export function createCredentialsIn(operatorKey: string | undefined): CredentialsIn {
  const operatorHash = operatorKey === undefined ? undefined : Buffer.from(hashKeySecret(operatorKey));
  const remembered = new WeakMap<object, readonly Credential[]>();
  return ({ header, sameHeaders }) => {
    // A client that sends the same headers with each call has its secret hashed once.
    const known = sameHeaders && remembered.get(sameHeaders);
    if (known) return known;
    const credentials = secretsIn(header).map((secret) => {
      const secretHash = hashKeySecret(secret);
      const isOperators = operatorHash !== undefined && timingSafeEqual(Buffer.from(secretHash), operatorHash);
      return { secretHash, isOperators };
    });
    if (sameHeaders) remembered.set(sameHeaders, credentials);
    return credentials;
  };
}

/**
 * secretsIn returns what may be the secret of a key, in the forms that clients send: `Authorization: Bearer <key>`, the bare key in
 * `Authorization`, `x-api-key`, and `api-key`, as clients of Azure's have it. Some send a foreign token in one and the gateway's key in
 * another: all are tried.
 */
function secretsIn(header: Arrival["header"]): string[] {
  const authorization = (header("authorization") ?? "").trim();
  // Who pastes a key with its scheme into a client's settings has the scheme twice.
  const bare = authorization.replace(/^(?:bearer(?:\s+|$))+/i, "");
  const secrets = [bare, repeated(header("x-api-key") ?? ""), repeated(header("api-key") ?? "")];
  return secrets.filter((secret, i) => secret !== "" && secrets.indexOf(secret) === i);
}

/** repeated returns the value of a field that may have been sent several times alike, as `authorization` may: those are joined by commas. */
function repeated(value: string): string {
  const [first = "", ...more] = value.split(",").map((one) => one.trim());
  return more.every((one) => one === first) ? first : value.trim();
}
