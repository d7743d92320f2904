/**
 * nearestWord returns the one of `words` that was probably meant by a word that is none of them: the fewest letters apart, of equals the
 * first; undefined where all are more than two letters away, or more than a third of the word.
 */
export function nearestWord(word: string, words: Iterable<string>): string | undefined {
  const most = Math.min(2, Math.floor(word.length / 3));
  const near = Array.from(words)
    .filter((other) => Math.abs(other.length - word.length) <= most)
    .map((other) => ({ other, apart: lettersApart(word, other) }));
  const [first] = near.filter(({ apart }) => apart <= most).sort((a, b) => a.apart - b.apart);
  return first?.other;
}

/** lettersApart counts letters that are left out, added, replaced, or swapped with their neighbour, to make one word of the other. */
function lettersApart(one: string, other: string): number {
  let before: number[] = [];
  let row = Array.from({ length: other.length + 1 }, (_, i) => i);
  for (let i = 1; i <= one.length; i++) {
    const next = [i];
    for (let j = 1; j <= other.length; j++) {
      const isSame = one[i - 1] === other[j - 1];
      const replaced = at(row, j - 1) + (isSame ? 0 : 1);
      const isSwapped = i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1];
      const swapped = isSwapped ? at(before, j - 2) + 1 : Number.POSITIVE_INFINITY;
      next.push(Math.min(at(row, j) + 1, at(next, j - 1) + 1, replaced, swapped));
    }
    [before, row] = [row, next];
  }
  return at(row, other.length);
}

function at(row: readonly number[], i: number): number {
  return row[i] ?? Number.POSITIVE_INFINITY;
}
