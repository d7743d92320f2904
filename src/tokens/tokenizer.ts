/**
 * Counts and cuts text by a real tokenizer, o200k_base.
 *
 * Time is proportional to the text, whatever the text: runs of one kind of character are cut every `longestRun`,
 * because the tokenizer takes quadratic time for them. Real words are shorter.
 */
import { setImmediate } from "node:timers/promises";
import { cancelled } from "../call/refusals.ts";
import type { Signal } from "../runtime/caller-abort.ts";

/** Piece is a token, or the few tokens of one character; never a part of a character. */
export interface Piece {
  readonly text: string;
  readonly tokens: number;
}

export interface Cut {
  readonly pieces: readonly Piece[];
  readonly tokens: number;
  /** whole is whether the text ended before the limit. */
  readonly whole: boolean;
}

export interface TextCounter {
  /** Counts texts of any length, yielding to other work. Throws a Refusal when the caller disconnects. */
  countAll(texts: readonly string[], signal: Signal): Promise<number>;
}

export interface Tokenizer extends TextCounter {
  /** Counts a short text. */
  count(text: string): number;
  /** Returns the pieces of a text that fit into this many tokens. */
  cut(text: string, limit: number): Cut;
}

const longestRun = 128;

/** Characters of a long text between two yields. */
const charactersPerSlice = 32_768;

let turns = Promise.resolve();

/** nextTurnOfMany yields to other work. Only one of several long texts goes on per turn, so that a short text waits no longer. */
function nextTurnOfMany(): Promise<void> {
  turns = turns.then(() => setImmediate());
  return turns;
}

/** Text that looks like a special token is counted as text. */
const asText = { disallowedSpecial: new Set<string>() };

let loaded: Promise<Tokenizer> | undefined;

/**
 * loadTokenizer loads the tokenizer at the first call, in a sixth of a second: its ranks are megabytes that other providers do not need.
 */
export function loadTokenizer(): Promise<Tokenizer> {
  loaded ??= load();
  return loaded;
}

async function load(): Promise<Tokenizer> {
  const [encoding, { default: ranks }] = await Promise.all([
    import("gpt-tokenizer/encoding/o200k_base"),
    import("gpt-tokenizer/bpeRanks/o200k_base"),
  ]);
  // The cache would keep words of prompts, and costs more time than it saves.
  encoding.setMergeCacheSize(0);

  function* tokensOf(text: string): Generator<number> {
    for (const slice of slices(text)) for (const tokens of encoding.encodeGenerator(slice, asText)) yield* tokens;
  }

  function count(text: string): number {
    let total = 0;
    for (const slice of slices(text)) total += encoding.countTokens(slice, asText);
    return total;
  }

  async function countAll(texts: readonly string[], signal: Signal): Promise<number> {
    let total = 0;
    let since = 0;
    for (const text of texts) {
      for (const slice of slices(text)) {
        total += encoding.countTokens(slice, asText);
        since += slice.length;
        if (since < charactersPerSlice) continue;
        since = 0;
        await nextTurnOfMany();
        if (signal.aborted) throw cancelled();
      }
    }
    return total;
  }

  function cut(text: string, limit: number): Cut {
    const pieces: Piece[] = [];
    let total = 0;
    let taken = 0;
    let part: Buffer[] = [];
    for (const token of tokensOf(text)) {
      if (++taken > limit) return { pieces, tokens: total, whole: false };
      const rank = ranks[token] as string | number[];
      part.push(Buffer.from(rank as string));
      const piece = typeof rank === "string" ? rank : wholeText(part);
      if (piece === undefined) continue;
      pieces.push({ text: piece, tokens: part.length });
      total += part.length;
      part = [];
    }
    return { pieces, tokens: total, whole: true };
  }

  return { count, countAll, cut };
}

const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** wholeText returns the bytes as text; undefined while a character is incomplete. */
function wholeText(parts: readonly Buffer[]): string | undefined {
  try {
    return strict.decode(Buffer.concat(parts));
  } catch {
    return undefined;
  }
}

/** Bounded, because a match of millions of characters overflows the stack of the regular expression engine. */
const runs = new RegExp(
  ["[\\p{L}\\p{M}]", "\\s", "\\p{N}", "[^\\s\\p{L}\\p{M}\\p{N}]"].map((kind) => `${kind}{1,${longestRun}}`).join("|"),
  "gu",
);

/**
 * slices yields the text in slices, which end where a run reaches its maximum and, in long texts, before a space where one comes in time.
 */
function* slices(text: string): Generator<string> {
  let from = 0;
  for (const { 0: run, index } of text.matchAll(runs)) {
    const isLong = run.length >= longestRun;
    const isLate = index - from >= 2 * charactersPerSlice;
    if (!isLong && !isLate && (index - from < charactersPerSlice || run[0] !== " ")) continue;
    const to = isLong ? index + run.length : index;
    yield text.slice(from, to);
    from = to;
  }
  if (from < text.length) yield text.slice(from);
}
