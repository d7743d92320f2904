/**
 * The sources and log probabilities of a chat message as those of a response. Only sources that are web pages are kept: clients require all
 * their keys.
 */
import type { Annotation, LogProbs, TokenLogProb } from "../../../../gen/modelgateway/v1/chat_pb.ts";
import type { JsonObject } from "../../../wire/json.ts";

export function sourcesIn(annotations: readonly Annotation[]): JsonObject[] {
  return annotations.flatMap(({ urlCitation }) => {
    if (!urlCitation?.url) return [];
    const { startIndex = 0, endIndex = 0, title, url } = urlCitation;
    return [{ type: "url_citation", start_index: startIndex, end_index: endIndex, title: title || url, url }];
  });
}

export function logprobsIn(logprobs: LogProbs | undefined): JsonObject[] {
  return (logprobs?.content ?? []).map((token) => ({
    ...tokenJson(token),
    top_logprobs: token.topLogprobs.map(tokenJson),
  }));
}

/** A missing probability becomes the lowest. */
function tokenJson({ token = "", logprob = -9999, bytes }: TokenLogProb): JsonObject {
  return { token, bytes: bytes.length > 0 ? bytes : [...Buffer.from(token)], logprob };
}
