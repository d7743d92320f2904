/**
 * Keeps what people have named from turning around the text that it stands in: a name in Hebrew, or one with marks that write from right to
 * left, would take the amounts behind it with it (UAX #9).
 */

/** Marks of the bidirectional algorithm, and the letters that are written from right to left. */
const turning = /[\u0590-\u08ff\u200e\u200f\u202a-\u202e\u2066-\u2069\ufb1d-\ufdff\ufe70-\ufefc]/;
const isolates = /[\u2066-\u2069]/g;
const [begin, end] = ["\u2068", "\u2069"];

/** isolated puts a text that may turn others around between marks that let nothing out. What it opens itself is closed, and no more. */
export function isolated(text: string): string {
  if (!turning.test(text)) return text;
  let open = 0;
  const balanced = text.replace(isolates, (mark) => {
    if (mark !== end) open++;
    else if (open === 0) return "";
    else open--;
    return mark;
  });
  return `${begin}${balanced}${end.repeat(open + 1)}`;
}

/** keptApart returns the same texts; what is given to those that are functions turns none of their own words around. */
export function keptApart<W extends object>(said: W): W {
  const apart = (value: unknown) => (typeof value === "string" ? isolated(value) : value);
  const entries = Object.entries(said).map(([key, text]: [string, unknown]) => [
    key,
    typeof text === "function" ? (...values: unknown[]) => text(...values.map(apart)) : text,
  ]);
  return Object.fromEntries(entries) as W;
}
