/** Names a request, so that the gateway knows it again when it comes twice. */

/** Returns 128 random bits as text. `crypto.randomUUID` is not there on pages that were fetched without TLS. */
export function newIdempotencyKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
