/** The options that all transports have. */

/** ApiKey is a key, or what returns the key of each attempt: one that rotates is read anew. */
export type ApiKey = string | (() => string | Promise<string>);

export interface GatewayOptions {
  /** The gateway's address without `/v1`, as `https://gateway.example`. */
  readonly baseUrl: string;
  /** Sent as `Authorization: Bearer`. Left out where a call's own headers have a credential. */
  readonly apiKey?: ApiKey | undefined;
  /** Headers of every call, as `x-gateway-strict`. A call's own headers replace them. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /**
   * timeoutMs is how long a call may take, in milliseconds: all attempts, pauses and messages of a stream together. 0 sets no bound.
   * Default: 600,000, ten minutes. `timeoutMs` of a call replaces it.
   */
  readonly timeoutMs?: number | undefined;
  readonly retries?: RetryOptions | undefined;
  /**
   * Gives each call that would be charged, or would create something, an `Idempotency-Key` of its own, where it has none: then
   * it may be repeated after a failure that leaves open what became of it. The gateway stores the answers of such calls for a
   * day. Default: false.
   */
  readonly idempotencyKeys?: boolean | undefined;
}

export interface RetryOptions {
  /** attempts is how often a call is sent at most, the first time included. 1 sends it once. Default: 3. */
  readonly attempts?: number | undefined;
  /** The longest pause before the second attempt, in milliseconds; it doubles with each further one. Default: 500. */
  readonly baseMs?: number | undefined;
  /** The longest pause before any attempt, in milliseconds, unless the gateway asks for a longer one. Default: 8,000. */
  readonly maxMs?: number | undefined;
}
