/**
 * The log probabilities of chat, one object a token → those of a completion, a list for each of their parts.
 *
 * Where a token begins is counted in characters of the completion's text, so in a stream and behind an echoed prompt
 * the count goes on. The prompt's own tokens have none: a chat model does not tell them.
 */
import type { LogProbs, TokenLogProb } from "../../../../gen/modelgateway/v1/chat_pb.ts";
import type { JsonObject } from "../../../wire/json.ts";

export interface TextLogProbs {
  readonly json: JsonObject | null;
  /** How many characters the tokens have. */
  readonly characters: number;
}

/** `from` is how many characters come before the first token. */
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

/** Counts the characters that begin in a token: it may hold a part of one, and then its bytes tell. */
function charactersOf({ token, bytes }: TokenLogProb): number {
  if (bytes.length === 0) return [...(token ?? "")].length;
  return bytes.filter((byte) => (byte & 0xc0) !== 0x80).length;
}

/** The legacy API always tells the token taken, among the likeliest or not. */
function likeliest(taken: TokenLogProb): JsonObject {
  const entries = [...taken.topLogprobs, taken].map(({ token, logprob }) => [token ?? "", logprob ?? null] as const);
  return Object.fromEntries(entries);
}
