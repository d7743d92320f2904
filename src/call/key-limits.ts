/** KeyLimits are the limits that a key has of its own, beside those of its account's tier. */
export interface KeyLimits {
  /** requestsPerMinute is undefined where the key has no such limit. */
  readonly requestsPerMinute: number | undefined;
  /** Input and output together. */
  readonly tokensPerMinute: number | undefined;
  /** The limits for single models; empty for none. */
  readonly models: readonly ModelLimit[];
  /** The most calls of models that may run at a time. */
  readonly maxConcurrent: number | undefined;
}

/** ModelLimit is a key's limit for one model, or for all models of a family. */
export interface ModelLimit {
  /** A model's id, or `family:name`. */
  readonly model: string;
  readonly requestsPerMinute: number | undefined;
  readonly tokensPerMinute: number | undefined;
}

/** NearestLimit is the limit of which the least is left, in proportion. */
export interface NearestLimit {
  /** share is what is left of it, from 0 to 1. */
  readonly share: number;
  /** The value of the header `x-gateway-limit`. */
  readonly header: string;
}
