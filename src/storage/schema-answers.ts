/** The tables of what was answered, or is about to be, and is kept. */
import type { Generated } from "kysely";
import type { Fixed } from "./schema-fixed.ts";

/** An answer that is kept for later requests to go on from. */
export interface ResponseTable {
  id: Fixed<string>;
  account_id: Fixed<string>;
  /** The response that it went on from. */
  previous_id: Fixed<string | null>;
  created_at: Fixed<number>;
  expires_at: number;
  /** The items that were new in its request, as JSON; null where they were too large to keep. */
  input: Fixed<string | null>;
  /** The response as it was answered, as JSON. */
  response: Fixed<string>;
}

/** A response that is made in the background, or was and came to nothing: one that is complete is among the others. */
export interface BackgroundResponseTable {
  id: Fixed<string>;
  account_id: Fixed<string>;
  /** The process that makes it, and that moves its deadline on while it does. */
  node: Fixed<string>;
  created_at: Fixed<number>;
  /** When it is forgotten. */
  expires_at: Fixed<number>;
  /** When its process is taken for dead. */
  alive_until: number;
  /** Whether its caller has asked for its end. */
  is_cancelled: Generated<number>;
  /** Whether nothing is made of it any more. */
  is_over: Generated<number>;
  /** The response as it stands, as JSON. */
  response: string;
}

/** What was answered under an Idempotency-Key, or is about to be. */
export interface ReplayTable {
  account_id: Fixed<string>;
  /** SHA-256 of the key and what it is for, in hex. */
  key_hash: Fixed<string>;
  /** SHA-256 of the key and the request, in hex. */
  request_hash: string;
  /** The call that is, or was, made. */
  request_id: string;
  /** The process that makes it, and that moves its deadline on while the call runs. */
  node: string;
  created_at: number;
  expires_at: number;
  /** 0: the call runs. 1: its answer is kept. 2: it was answered, and the answer was too long to be kept. */
  state: number;
  /** How long the answer is, in bytes. */
  size: number;
  /** The answer, encrypted with what only a repetition of the request brings. */
  answer: Buffer | null;
}

/** How long all answers together are that are kept of an account, in bytes: the sum of `size` of its replays. */
export interface ReplaySizeTable {
  account_id: Fixed<string>;
  size: number;
}
