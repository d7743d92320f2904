/**
 * The sources and log probabilities of a chat message as those of a response. Perplexity lists its sources beside the choices, and the text
 * names them by number (`[1]`).
 *
 * Only sources that are web pages are kept: clients require all their keys.
 */
import type { Annotation, LogProbs, TokenLogProb } from "../../../../gen/modelgateway/v1/chat_pb.ts";
import type { JsonObject } from "../../../wire/json.ts";
import type { Source } from "../../listed-sources.ts";

/** namedSources returns the sources where the text names them; one that it does not name is one of the whole text. */
export function namedSources(sources: readonly Source[], text: string): JsonObject[] {
  return sources.flatMap(({ url, title }, i) => {
    if (url === "") return [];
    const name = `[${i + 1}]`;
    const at = text.indexOf(name);
    const [start_index, end_index] = at === -1 ? [0, text.length] : [at, at + name.length];
    return [{ type: "url_citation", start_index, end_index, title: title || url, url }];
  });
}

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
