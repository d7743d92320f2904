/**
 * The features that a vector is made of: words, parts of words, or tokens, each with a weight.
 *
 * Words are compared without case and in normalised form. Their parts are runs of three and four characters with the
 * word's ends marked, so that `walking` is near `walked` and near a misspelling. Scripts without spaces have runs of
 * one and two characters instead of words. Punctuation and symbols weigh little.
 */
import type { EmbeddedInput } from "./inputs.ts";

export interface Feature {
  readonly name: string;
  readonly weight: number;
}

/** Longer runs are cut: they are no words. */
const longestRun = 64;

const spaceless =
  "[\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Thai}\\p{Script=Lao}\\p{Script=Khmer}]";

/** Runs of a script without spaces, words, and everything else; each is bounded, since texts are not. */
const runs = new RegExp(
  [
    `(?<dense>(?:${spaceless}\\p{M}{0,8}){1,${longestRun}})`,
    `(?<word>(?:(?!${spaceless})[\\p{L}\\p{M}\\p{N}]){1,${longestRun}})`,
    `(?<mark>[^\\s\\p{L}\\p{M}\\p{N}]{1,${longestRun}})`,
  ].join("|"),
  "gu",
);

/** featuresOf yields the features of each run or token. */
export function* featuresOf(input: EmbeddedInput): Generator<readonly Feature[]> {
  if (typeof input !== "string") {
    yield* tokenFeatures(input);
    return;
  }
  for (const { groups } of input.matchAll(runs)) yield runFeatures(groups ?? {});
}

function runFeatures({ dense, word, mark }: Readonly<Record<string, string | undefined>>): readonly Feature[] {
  if (word !== undefined) return wordFeatures(normal(word));
  if (dense === undefined) return [{ name: `mark ${normal(mark as string)}`, weight: 0.2 }];
  return partsOf([...normal(dense)], [1, 2]).map((part) => ({ name: `part ${part}`, weight: 1 }));
}

function normal(run: string): string {
  return run.normalize("NFKC").toLowerCase();
}

/** Short words weigh less: many of them are articles, particles and forms of `be`. */
function wordFeatures(word: string): readonly Feature[] {
  const characters = [...word];
  const weight = Math.min(1, 0.2 * characters.length);
  const parts = partsOf(["<", ...characters, ">"], [3, 4]);
  // All parts together weigh as much as the word.
  const each = weight / Math.sqrt(parts.length);
  return [{ name: `word ${word}`, weight }, ...parts.map((part) => ({ name: `part ${part}`, weight: each }))];
}

function partsOf(characters: readonly string[], sizes: readonly number[]): string[] {
  const parts: string[] = [];
  for (const size of sizes) {
    for (let end = size; end <= characters.length; end++) parts.push(characters.slice(end - size, end).join(""));
  }
  return parts;
}

/** Each token is a feature, and so is each pair of neighbours. */
function* tokenFeatures(tokens: readonly number[]): Generator<readonly Feature[]> {
  for (const [at, token] of tokens.entries()) {
    const alone = { name: `token ${token}`, weight: 1 };
    yield at === 0 ? [alone] : [alone, { name: `tokens ${tokens[at - 1]} ${token}`, weight: 0.5 }];
  }
}
