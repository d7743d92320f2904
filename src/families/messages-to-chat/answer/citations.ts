/**
 * The sources of a chat answer as citations of a message's text.
 *
 * Only web pages are cited. What a page says is known where the server tells it (OpenRouter's `content`); nobody has sealed a place in it,
 * so the place is empty, as the signature of thinking is.
 */
import type { Annotation } from "../../../../gen/modelgateway/v1/chat_pb.ts";
import { type JsonObject, textOrEmpty } from "../../../wire/json.ts";

/** citationsIn returns the citations of the web pages in annotations. */
export function citationsIn(annotations: readonly Annotation[]): JsonObject[] {
  return annotations.flatMap(({ urlCitation: cited }) =>
    cited?.url ? [citationOf(cited.url, cited.title ?? "", textOrEmpty(cited.extra?.content))] : [],
  );
}

/** A title that repeats the address, which clients of chat must have, is none. */
function citationOf(url: string, title: string, cited_text: string): JsonObject {
  return {
    type: "web_search_result_location",
    url,
    title: title === url ? null : title || null,
    cited_text,
    encrypted_index: "",
  };
}

/** distinct returns the citations once each: a text that cites a page in several places cites it once here. */
export function distinct(citations: readonly JsonObject[]): JsonObject[] {
  return [...new Map(citations.map((one) => [`${one.url} ${one.cited_text}`, one])).values()];
}
