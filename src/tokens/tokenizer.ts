/**
 * Counts and cuts text by a real tokenizer, o200k_base.
 *
 * The time is in proportion to the text, whatever the text: runs of one kind of character are cut every
 * `longestRun`, because the tokenizer takes the square of their length. Real words are shorter.
 */
import { setImmediate } from "node:timers/promises";
import { cancelled } from "../call/refusals.ts";
import type { Signal } from "../runtime/caller-abort.ts";

/** A token, or the few that make up one character: never a part of a character. */
export interface Piece {
  readonly text: string;
  readonly tokens: number;
}

export interface Cut {
  readonly pieces: readonly Piece[];
  readonly tokens: number;
  /** Whether the text ended before the limit did. */
  readonly whole: boolean;
}

export interface TextCounter {
  /** Counts texts of any length, letting other work have its turn. Throws a Refusal when the caller leaves. */
  countAll(texts: readonly string[], signal: Signal): Promise<number>;
}

export interface Tokenizer extends TextCounter {
  /** Counts a short text. */
  count(text: string): number;
  /** Returns the pieces of a text that fit into this many tokens. */
  cut(text: string, limit: number): Cut;
}

const longestRun = 128;

/** After how many characters of a long text other work has its turn. */
const charactersATurn = 32_768;

let turns = Promise.resolve();

/** Lets other work have its turn. Of several long texts one goes on in each: a short one that comes waits for no more. */
function nextTurnOfMany(): Promise<void> {
  turns = turns.then(() => setImmediate());
  return turns;
}

/** Text that looks like a special token is text all the same. */
const asText = { disallowedSpecial: new Set<string>() };

let loaded: Promise<Tokenizer> | undefined;

/** Loads the tokenizer at the first call, for a sixth of a second: its ranks are megabytes that other providers do without. */
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
        if (since < charactersATurn) continue;
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

/** Returns the bytes as text, or undefined while a character is incomplete. */
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

/** Yields the text in slices: they end where a run has reached its longest and, in long texts, before a space, if one
 *  comes in time. */
function* slices(text: string): Generator<string> {
  let from = 0;
  for (const { 0: run, index } of text.matchAll(runs)) {
    const isLong = run.length >= longestRun;
    const isLate = index - from >= 2 * charactersATurn;
    if (!isLong && !isLate && (index - from < charactersATurn || run[0] !== " ")) continue;
    const to = isLong ? index + run.length : index;
    yield text.slice(from, to);
    from = to;
  }
  if (from < text.length) yield text.slice(from);
}
