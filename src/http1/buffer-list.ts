/** What has come piece by piece, and waits for more, or for its turn. */
export class BufferList {
  #pieces: Buffer[] = [];
  /** Of all together, in bytes. */
  length = 0;

  add(bytes: Buffer): void {
    this.#pieces.push(bytes);
    this.length += bytes.length;
  }

  /** Returns all of it, and has none then. */
  take(): Buffer {
    const all = Buffer.concat(this.#pieces, this.length);
    this.#pieces = [];
    this.length = 0;
    return all;
  }
}
