/**
 * Any text → printable ASCII that an English speaker can read aloud.
 *
 * Letters lose their accents, typographic characters become plain ones, and a few symbols become words. A run of
 * other characters (other scripts, emoji) becomes a comma: a short pause. Marks, controls and other invisible
 * characters are dropped.
 */

const plain: ReadonlyMap<string, string> = new Map(
  Object.entries({
    ...{ "‘": "'", "’": "'", "‚": "'", "“": '"', "”": '"', "„": '"', "«": '"', "»": '"' },
    ...{ "–": "-", "‐": "-", "‑": "-", "−": "-", "—": ", ", "•": ", ", "⁄": "/", "。": ". ", "、": ", " },
    ...{ ß: "ss", æ: "ae", Æ: "AE", œ: "oe", Œ: "OE", ø: "o", Ø: "O", đ: "d", Đ: "D", ð: "d", Ð: "D" },
    ...{ ł: "l", Ł: "L", þ: "th", Þ: "Th", ı: "i", ħ: "h", "×": " times ", "÷": " divided by ", "°": " degrees " },
    ...{ "€": " euros ", "£": " pounds ", "¥": " yen ", "©": " copyright ", "®": "", "™": "" },
  }),
);

export interface Words {
  /** The words that can be spoken; empty without any. */
  readonly words: string;
  /** Number of characters with a sound or a meaning that cannot be spoken. */
  readonly unspoken: number;
}

export function wordsOf(text: string): Words {
  let unspoken = 0;
  let words = "";
  for (const character of signsInOrder(text)) {
    const spoken = spokenForm(character);
    if (spoken === undefined) unspoken += 1;
    words += spoken ?? ", ";
  }
  const tidy = words
    .replace(/(\w) *\n\s*\n\s*/g, "$1. ")
    .replace(/\s+/g, " ")
    .replace(/(?:\s*,)+(?=\s*[.!?,;:](?:\s|$))/g, "")
    .replace(/\s+(?=[.!?,;:](?:\s|$))/g, "")
    .replace(/^[\s,]+/, "")
    .trim();
  return { words: hasSound(tidy) ? tidy : "", unspoken: unspoken };
}

/** hasSound reports whether there is more than punctuation. */
export function hasSound(words: string): boolean {
  return /[^\s.,;:!?'"()[\]{}\-_`\\/]/.test(words);
}

/** signsInOrder moves a currency sign after its amount, as it is spoken. */
function signsInOrder(text: string): string {
  return text.replace(/([€£¥])\s?(\d[\d.,]*\d|\d)/g, "$2$1");
}

/** spokenForm returns undefined for a character that cannot be spoken. */
function spokenForm(character: string): string | undefined {
  if (/[\n\x20-\x7e]/.test(character)) return character;
  const known = plain.get(character);
  if (known !== undefined) return known;
  if (/[\p{Z}\p{Cc}]/u.test(character)) return " ";
  if (/[\p{M}\p{C}]/u.test(character)) return "";
  const parts = [...character.normalize("NFKD")].map((part) => plain.get(part) ?? part);
  return parts.join("").replace(/[^\x20-\x7e]/g, "") || undefined;
}
