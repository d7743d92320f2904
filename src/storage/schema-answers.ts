/** The tables of answers that are kept, or will be. */
import type { Generated } from "kysely";
import type { Fixed } from "./schema-fixed.ts";

/** ResponseTable is responses that are kept for later requests to continue. */
export interface ResponseTable {
  id: Fixed<string>;
  account_id: Fixed<string>;
  /** The response that it continues. */
  previous_id: Fixed<string | null>;
  created_at: Fixed<number>;
  expires_at: number;
  /** The items that its request added, as JSON; null where they were too large to keep. */
  input: Fixed<string | null>;
  /** The response as the caller got it, as JSON. */
  response: Fixed<string>;
}

/** BackgroundResponseTable is responses that are made in the background, or ended incomplete; complete ones are in ResponseTable. */
export interface BackgroundResponseTable {
  id: Fixed<string>;
  account_id: Fixed<string>;
  /** The process that makes it, and moves its deadline on while it does. */
  node: Fixed<string>;
  created_at: Fixed<number>;
  /** expires_at is when it may be deleted. */
  expires_at: Fixed<number>;
  /** alive_until is when its process counts as dead. */
  alive_until: number;
  /** is_cancelled is whether its caller has asked to cancel it. */
  is_cancelled: Generated<number>;
  /** is_over is whether it has ended. */
  is_over: Generated<number>;
  /** The response in its last state, as JSON. */
  response: string;
}

/** ReplayTable is answers under an Idempotency-Key, and claims of calls that run. */
export interface ReplayTable {
  account_id: Fixed<string>;
  /** SHA-256 of the key and what it is for, in hex. */
  key_hash: Fixed<string>;
  /** SHA-256 of the key and the request, in hex. */
  request_hash: string;
  /** The call that answers it. */
  request_id: string;
  /** The process that makes the call, and moves the deadline on while it runs. */
  node: string;
  created_at: number;
  expires_at: number;
  /** 0: the call runs. 1: its answer is kept. 2: its answer was too long to keep. */
  state: number;
  /** The length of the answer, in bytes. */
  size: number;
  /** The answer, encrypted with a key that only a repetition of the request has. */
  answer: Buffer | null;
}

/** ReplaySizeTable is the length of all answers of an account, in bytes: the sum of `size` of its replays. */
export interface ReplaySizeTable {
  account_id: Fixed<string>;
  size: number;
}
