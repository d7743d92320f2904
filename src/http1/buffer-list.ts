/** BufferList collects bytes that came piece by piece, until they are taken together. */
export class BufferList {
  #pieces: Buffer[] = [];
  /** The number of bytes in it. */
  length = 0;

  add(bytes: Buffer): void {
    this.#pieces.push(bytes);
    this.length += bytes.length;
  }

  /** Returns all bytes in one piece, and empties the list. */
  take(): Buffer {
    const all = Buffer.concat(this.#pieces, this.length);
    this.#pieces = [];
    this.length = 0;
    return all;
  }
}
