/** Creates idempotency keys, by which the gateway recognises a repeated request. */

/**
 * newIdempotencyKey returns 128 random bits as text. `crypto.randomUUID` does not exist on pages fetched without TLS.
 */
export function newIdempotencyKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
