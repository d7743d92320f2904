/** Ranks what is searched for: by its names, fuzzily, and by its marks, such as ids, exactly. */

export interface Searchable {
  /** names are what people call it, in every language; the one that is shown comes first. */
  readonly names: readonly string[];
  /** marks are ids, addresses and the like: a part of one is found, and nothing that merely resembles it. */
  readonly marks?: readonly string[] | undefined;
  /** contents are what is there besides, in every language: words that begin one of theirs are found, behind all names. */
  readonly contents?: readonly string[] | undefined;
  /** weight is a factor on how well it fits: less than 1 for what is sought less often. Default: 1. */
  readonly weight?: number | undefined;
}

/** fitOf returns how well something fits a query, 0 to 1; 0: it does not. Each word of the query has to be found in it. */
export function fitOf({ names, marks = [], contents = [], weight = 1 }: Searchable, query: string): number {
  const words = plain(query).split(/\s+/).filter(Boolean);
  if (words.length === 0) return 0;
  const [called, marked, contained] = [names.map(plain), marks.map(plain), contents.map(plain)];
  let sum = 0;
  for (const word of words) {
    const inNames = called.map((name, i) => inName(name, word) * (i === 0 ? 1 : 0.9));
    const inContents = contained.map((text) => inContent(text, word));
    const best = Math.max(...inNames, ...marked.map((mark) => inMark(mark, word)), ...inContents, 0);
    if (best === 0) return 0;
    sum += best;
  }
  // A name that is all that was typed comes before longer ones.
  const whole = called.some((name) => name === words.join(" ")) ? 1 : sum / words.length;
  return whole * weight;
}

/** plain drops case, accents and forms of the same letter: what is typed on a keyboard. */
function plain(text: string): string {
  return text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase().trim();
}

function inMark(mark: string, word: string): number {
  if (mark === word) return 0.98;
  if (word.length < 3) return 0;
  return mark.startsWith(word) || mark.endsWith(word) ? 0.85 : mark.includes(word) ? 0.7 : 0;
}

/** inContent finds what begins a word; a text without spaces is searched anywhere. A word in the plural finds the singular. */
function inContent(text: string, word: string): number {
  const isLatin = /^[\x20-\x7e]*$/.test(text);
  if (!isLatin) return word.length > 1 && text.includes(word) ? 0.6 : 0;
  if (word.length < 3) return 0;
  const words = text.split(/[^a-z]+/);
  return words.some((one) => one.startsWith(word) || (word.endsWith("s") && one === word.slice(0, -1))) ? 0.6 : 0;
}

function inName(name: string, word: string): number {
  if (name === word) return 0.98;
  if (name.startsWith(word)) return 0.92;
  const parts = name.split(/[\s\-_./:]+/);
  if (parts.some((part) => part.startsWith(word))) return 0.84;
  if (name.includes(word)) return 0.72;
  if (initialsOf(parts).startsWith(word) && word.length > 1) return 0.64;
  if (word.length < 3) return 0;
  if (word.length > 3 && parts.some((part) => isAlmost(part.slice(0, word.length + 1), word))) return 0.5;
  return scattered(name, word) * 0.45;
}

function initialsOf(parts: readonly string[]): string {
  return parts.map((part) => part[0] ?? "").join("");
}

/** scattered returns how close together the letters of a word stand in a name, in their order, 0 to 1; 0 where they are too far apart. */
function scattered(name: string, word: string): number {
  let shortest = Number.POSITIVE_INFINITY;
  for (let start = name.indexOf(word[0] ?? ""); start !== -1; start = name.indexOf(word[0] ?? "", start + 1)) {
    let at = start;
    for (let i = 1; i < word.length && at !== -1; i++) at = name.indexOf(word[i] ?? "", at + 1);
    if (at === -1) break;
    shortest = Math.min(shortest, at - start + 1);
  }
  return shortest > word.length * 2 ? 0 : word.length / shortest;
}

/** isAlmost reports whether a word is the beginning of a part of a name but for one letter: another, a missing, a further, or two swapped. */
function isAlmost(part: string, word: string): boolean {
  let same = 0;
  while (same < word.length && part[same] === word[same]) same++;
  const [typed, meant] = [word.slice(same), part.slice(same)];
  return (
    meant.slice(1).startsWith(typed.slice(1)) ||
    meant.slice(1).startsWith(typed) ||
    meant.startsWith(typed.slice(1)) ||
    (typed[0] === meant[1] && typed[1] === meant[0] && meant.slice(2).startsWith(typed.slice(2)))
  );
}

/** ranked returns up to `most` things that fit, the best first; those that fit alike stay in their order. */
export function ranked<T extends Searchable>(things: readonly T[], query: string, most: number): readonly Ranked<T>[] {
  return things
    .map((thing) => ({ thing, fit: fitOf(thing, query) }))
    .filter(({ fit }) => fit > 0)
    .sort((one, other) => other.fit - one.fit)
    .slice(0, most);
}

export interface Ranked<T> {
  readonly thing: T;
  readonly fit: number;
}
