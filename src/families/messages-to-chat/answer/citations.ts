/**
 * The sources of a chat answer as citations of a message's text: those that stand in the message, or else those that its server lists.
 *
 * Only web pages are cited. What a page says is known where the server tells it (OpenRouter's `content`); nobody has sealed a place in it,
 * so the place is empty, as the signature of thinking is.
 */
import type { Annotation } from "../../../../gen/modelgateway/v1/chat_pb.ts";
import { type JsonObject, textOrEmpty } from "../../../wire/json.ts";
import type { Source } from "../../listed-sources.ts";

/** citationsIn returns the citations of the web pages in annotations. */
export function citationsIn(annotations: readonly Annotation[]): JsonObject[] {
  return annotations.flatMap(({ urlCitation: cited }) =>
    cited?.url ? [citationOf({ url: cited.url, title: cited.title ?? "" }, textOrEmpty(cited.extra?.content))] : [],
  );
}

/** citationsOf returns the citations of sources. */
export function citationsOf(sources: readonly Source[]): JsonObject[] {
  return sources.filter(({ url }) => url !== "").map((source) => citationOf(source));
}

function citationOf({ url, title }: Source, cited_text = ""): JsonObject {
  return { type: "web_search_result_location", url, title: title || null, cited_text, encrypted_index: "" };
}

/** distinct returns the citations once each: a text that cites a page in several places cites it once here. */
export function distinct(citations: readonly JsonObject[]): JsonObject[] {
  return [...new Map(citations.map((one) => [`${one.url} ${one.cited_text}`, one])).values()];
}
