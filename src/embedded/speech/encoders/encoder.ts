/**
 * Encoder is the contract of every audio format.
 *
 * The chunks that an encoder returns, joined, are one file. No chunk is changed after it was returned, so each can be sent at
 * once; fields whose value is known only at the end, such as a total length, are left open in the way the format allows.
 */
export interface Encoder {
  /** Takes the next samples, of which the very first is 0, and returns the bytes that are ready. */
  encode(samples: Int16Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>>;
  /** Returns the bytes that are left. */
  end(): Promise<Uint8Array<ArrayBuffer>>;
  /** Releases all resources, whether or not the end was reached. */
  close(): Promise<void>;
}
