/**
 * Reads JSON as it comes, and knows at any time whether a JSON text may begin with what came. It is lenient within strings, numbers and
 * words, and strict about where values, names and signs stand.
 */

type Due = "value" | "first item" | "first name" | "name" | "colon" | "sign" | "nothing";

export class JsonReading {
  #due: Due = "value";
  /** The open brackets, from the outermost on. */
  readonly #open: string[] = [];
  #inString = false;
  #escaped = false;
  #inWord = false;
  #isValid = true;

  /** isValid is whether a JSON text may begin so. */
  get isValid(): boolean {
    return this.#isValid;
  }

  /** isWhole is whether a JSON list or object has come, and nothing but white space behind it. */
  get isWhole(): boolean {
    return this.#isValid && this.#due === "nothing" && !this.#inWord;
  }

  /** fork returns another reading of what came, which goes on by itself. */
  fork(): JsonReading {
    const other = new JsonReading();
    other.#due = this.#due;
    for (const bracket of this.#open) other.#open.push(bracket);
    other.#inString = this.#inString;
    other.#escaped = this.#escaped;
    other.#inWord = this.#inWord;
    other.#isValid = this.#isValid;
    return other;
  }

  /** readAll reads a piece, and returns itself. */
  readAll(piece: string): this {
    for (let i = 0; i < piece.length && this.#isValid; i++) this.read(piece.charAt(i));
    return this;
  }

  /** read reads a character, and returns whether it closes the outermost bracket. Brackets of invalid JSON are counted, too. */
  read(character: string): boolean {
    if (this.#escaped) this.#escaped = false;
    else if (this.#inString && character === "\\") this.#escaped = true;
    else if (character === '"') this.#quote();
    else if (this.#inString || character.trim() === "") this.#inWord &&= this.#inString;
    else if (character === "{" || character === "[") this.#openBracket(character);
    else if (character === "}" || character === "]") return this.#closeBracket(character);
    else this.#readOther(character);
    return false;
  }

  #quote(): void {
    this.#inString = !this.#inString;
    if (!this.#inString) return;
    this.#inWord = false;
    if (this.#due === "first name" || this.#due === "name") this.#due = "colon";
    else this.#takeValue();
  }

  #openBracket(bracket: string): void {
    this.#inWord = false;
    this.#takeValue();
    this.#open.push(bracket);
    this.#due = bracket === "{" ? "first name" : "first item";
  }

  #closeBracket(bracket: string): boolean {
    this.#inWord = false;
    const first = bracket === "}" ? "first name" : "first item";
    const fits = this.#open.at(-1) === (bracket === "}" ? "{" : "[");
    if (!fits || (this.#due !== first && this.#due !== "sign")) this.#isValid = false;
    const wasOpen = this.#open.pop() !== undefined;
    this.#due = this.#open.length === 0 ? "nothing" : "sign";
    return wasOpen && this.#open.length === 0;
  }

  #readOther(character: string): void {
    if (character === ":" && this.#due === "colon") this.#due = "value";
    else if (character === "," && this.#due === "sign") {
      this.#inWord = false;
      this.#due = this.#open.at(-1) === "{" ? "name" : "value";
    } else if (!ofWords.test(character)) this.#isValid = false;
    else if (!this.#inWord) {
      this.#takeValue();
      this.#inWord = true;
    }
  }

  #takeValue(): void {
    if (this.#due !== "value" && this.#due !== "first item") this.#isValid = false;
    this.#due = this.#open.length === 0 ? "nothing" : "sign";
  }
}

/** ofWords is what numbers, `true`, `false` and `null` are made of. */
const ofWords = /[-+.0-9A-Za-z]/;
