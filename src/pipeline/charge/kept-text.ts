/**
 * What a model put out, kept until the end of the answer, when it may have to be counted, up to a bound.
 *
 * A stream writes a word at a time. Kept as texts, each would be copied twice by the collector, in each of thousands of
 * streams, and that is what chunks wait for; so they are kept as bytes, which the collector leaves where they are. Half of a
 * surrogate pair, which nobody should write, is another character then: as many are counted.
 */

/** In characters: some 64,000 tokens. */
const mostCharacters = 262_144;
/** Of UTF-8, for a character as texts count them. */
const mostBytesEach = 3;
const firstRoom = 512;
const noBytes = Buffer.alloc(0);

export class KeptText {
  /** How much was put out beyond what is kept, in bytes of UTF-8. */
  beyondBytes = 0;
  /** Most answers are one piece. */
  #first = "";
  #characters = 0;
  #further = noBytes;
  #furtherBytes = 0;

  add(text: string): void {
    const room = mostCharacters - this.#characters;
    if (room > 0) this.#keep(text.slice(0, room));
    if (text.length > room) this.beyondBytes += Buffer.byteLength(text.slice(room));
  }

  isEmpty(): boolean {
    return this.#characters === 0;
  }

  /** Returns all that is kept. */
  text(): string {
    return this.#first + this.#further.toString("utf8", 0, this.#furtherBytes);
  }

  #keep(text: string): void {
    if (this.#characters === 0) this.#first = text;
    else this.#append(text);
    this.#characters += text.length;
  }

  #append(text: string): void {
    const needed = this.#furtherBytes + text.length * mostBytesEach;
    if (needed > this.#further.length) this.#grow(needed);
    this.#furtherBytes += this.#further.write(text, this.#furtherBytes);
  }

  #grow(needed: number): void {
    const grown = Buffer.allocUnsafeSlow(Math.max(needed, firstRoom, this.#further.length * 2));
    this.#further.copy(grown, 0, 0, this.#furtherBytes);
    this.#further = grown;
  }
}
