/**
 * Words → pieces that are spoken one after the other: the first is short, so that it is heard soon; none is long, so
 * that no piece delays other jobs or needs much memory.
 *
 * A piece ends with a sentence where one ends in time, else with a clause, else with a word; only an overlong word is
 * cut. Pieces are the same at every speed.
 */
import { hasSound } from "./words.ts";

export interface Piece {
  readonly words: string;
  /** pauseBefore is whether the piece begins and ends where a speaker pauses. */
  readonly pauseBefore: boolean;
  readonly pauseAfter: boolean;
}

/** The approximate duration of a piece at normal speed, in seconds. */
const firstPiece = 3;
const laterPiece = 7;

export function* piecesOf(words: string): Generator<Piece> {
  let rest = words;
  let pauseBefore = true;
  let most = firstPiece;
  while (rest !== "") {
    const { length, pause } = cutOf(rest, most);
    const piece = rest.slice(0, length).trim();
    rest = rest.slice(length).trimStart();
    const pauseAfter = pause || rest === "";
    if (hasSound(piece)) {
      yield { words: piece, pauseBefore, pauseAfter };
      most = laterPiece;
    }
    pauseBefore = pauseAfter;
  }
}

function cutOf(words: string, most: number): { readonly length: number; readonly pause: boolean } {
  const reach = reachOf(words, most);
  if (reach === words.length) return { length: reach, pause: true };
  // The next character tells whether a word or a sentence ends here.
  const seen = words.slice(0, reach + 1);
  const sentence = lastEnd(seen, sentenceEnd);
  if (sentence > 0) return { length: sentence, pause: true };
  const clause = lastEnd(seen, /[,;:)]["')\]]*(?=\s)/g);
  if (clause > 0) return { length: clause, pause: true };
  const word = seen.lastIndexOf(" ");
  return { length: word > 0 ? word : reach, pause: false };
}

/** A full stop after an abbreviation or an initial ends no sentence. */
const sentenceEnd = /(?<!\b(?:Mr|Mrs|Ms|Dr|St|Prof|Sr|Jr|vs|No|approx|e\.g|i\.e|[A-Z]))[.!?]+["')\]]*(?=\s)/g;

/** lastEnd returns the end of the last match, or 0. */
function lastEnd(words: string, pattern: RegExp): number {
  let end = 0;
  for (const match of words.matchAll(pattern)) end = match.index + match[0].length;
  return end;
}

/** reachOf returns the number of characters spoken in this time, at least one. */
function reachOf(words: string, seconds: number): number {
  let time = 0;
  for (let i = 0; i < words.length; i++) {
    time += secondsOf(words.charCodeAt(i));
    if (time > seconds) return Math.max(i, 1);
  }
  return words.length;
}

/** secondsOf returns the duration of a character. Digits and symbols are spoken as words, capitals often as letters; a stop is a pause. */
function secondsOf(code: number): number {
  const character = String.fromCharCode(code);
  if (/[a-z\s'"()-]/.test(character)) return 0.06;
  if (/[.,;:!?]/.test(character)) return 0.2;
  if (/[A-Z]/.test(character)) return 0.12;
  return /\d/.test(character) ? 0.28 : 0.6;
}
