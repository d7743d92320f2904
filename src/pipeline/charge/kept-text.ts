/**
 * KeptText keeps the output of a model until the end of the answer, when it may have to be counted; up to a bound.
 *
 * A stream brings a word at a time. The words are kept as bytes outside of the JavaScript heap, where the garbage collector does
 * not copy them (docs/speed.md). An unpaired surrogate becomes the replacement character, which does not change the count.
 */

/** About 64,000 tokens. */
const maxCharacters = 262_144;
/** The most bytes of UTF-8 for a UTF-16 code unit. */
const maxBytesEach = 3;
const initialRoom = 512;
const noBytes = Buffer.alloc(0);

export class KeptText {
  /** The output beyond what is kept, in bytes of UTF-8. */
  beyondBytes = 0;
  /** The first piece: most unary answers have no other. */
  #first = "";
  #characters = 0;
  #further = noBytes;
  #furtherBytes = 0;

  add(text: string): void {
    const room = maxCharacters - this.#characters;
    if (room > 0) this.#keep(text.slice(0, room));
    if (text.length > room) this.beyondBytes += Buffer.byteLength(text.slice(room));
  }

  /** The length of all output, in bytes of UTF-8; at most three times that of ASCII, for what was not written as bytes yet. */
  get byteLength(): number {
    return this.#first.length * maxBytesEach + this.#furtherBytes + this.beyondBytes;
  }

  isEmpty(): boolean {
    return this.#characters === 0;
  }

  text(): string {
    return this.#first + this.#further.toString("utf8", 0, this.#furtherBytes);
  }

  #keep(text: string): void {
    if (this.#characters === 0) this.#first = text;
    else this.#append(text);
    this.#characters += text.length;
  }

  #append(text: string): void {
    const needed = this.#furtherBytes + text.length * maxBytesEach;
    if (needed > this.#further.length) this.#grow(needed);
    this.#furtherBytes += this.#further.write(text, this.#furtherBytes);
  }

  #grow(needed: number): void {
    const grown = Buffer.allocUnsafeSlow(Math.max(needed, initialRoom, this.#further.length * 2));
    this.#further.copy(grown, 0, 0, this.#furtherBytes);
    this.#further = grown;
  }
}
