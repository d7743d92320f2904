/**
 * Chat's log probabilities, an object per token → a completion's, a list per member.
 *
 * Offsets are in characters of the completion's text, so they continue through a stream and after an echoed prompt.
 * The prompt's tokens have none: a chat model does not report them.
 */
import type { LogProbs, TokenLogProb } from "../../../../gen/modelgateway/v1/chat_pb.ts";
import type { JsonObject } from "../../../wire/json.ts";

export interface TextLogProbs {
  readonly json: JsonObject | null;
  /** Number of characters in the tokens. */
  readonly characters: number;
}

/** `from` is the number of characters before the first token. */
export function textLogProbs(logprobs: LogProbs | undefined, from: number): TextLogProbs {
  const tokens = [...(logprobs?.content ?? []), ...(logprobs?.refusal ?? [])];
  if (tokens.length === 0) return { json: null, characters: 0 };
  const offsets: number[] = [];
  let characters = 0;
  for (const token of tokens) {
    offsets.push(from + characters);
    characters += charactersOf(token);
  }
  const json = {
    tokens: tokens.map(({ token }) => token ?? ""),
    token_logprobs: tokens.map(({ logprob }) => logprob ?? null),
    top_logprobs: tokens.map(likeliest),
    text_offset: offsets,
  };
  return { json, characters };
}

/** charactersOf counts the characters that begin in a token. A token may hold part of a character: then its bytes decide. */
function charactersOf({ token, bytes }: TokenLogProb): number {
  if (bytes.length === 0) return [...(token ?? "")].length;
  return bytes.filter((byte) => (byte & 0xc0) !== 0x80).length;
}

/** likeliest returns the likeliest tokens. The legacy API always includes the chosen one. */
function likeliest(taken: TokenLogProb): JsonObject {
  const entries = [...taken.topLogprobs, taken].map(({ token, logprob }) => [token ?? "", logprob ?? null] as const);
  return Object.fromEntries(entries);
}
