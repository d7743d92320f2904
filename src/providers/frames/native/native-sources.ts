/**
 * What answers of Gemini's and Cohere's own APIs say besides texts and calls → members of a chat message: images, and annotations of the web
 * pages that a text rests on. Sources without an address have no place in a chat.
 */
import { isObject, type JsonObject, type JsonValue, textOrEmpty } from "../../../wire/json.ts";
import { membersOf } from "../../usage/count.ts";

/** imagesIn returns the images among the parts of Gemini's content that are no thoughts. */
export function imagesIn(parts: readonly JsonObject[]): JsonObject[] {
  return parts.flatMap(({ inlineData: inline, thought }) => {
    const { mimeType, data } = membersOf(inline);
    const isImage = textOrEmpty(mimeType).startsWith("image/") && textOrEmpty(data) !== "";
    if (thought === true || !isImage) return [];
    return [{ type: "image_url", image_url: { url: `data:${mimeType};base64,${data}` } }];
  });
}

/**
 * groundedIn returns annotations of the pages that `groundingMetadata` names. Its places are bytes of the whole text; those beyond `text`, as of a
 * piece of a stream, are not known.
 */
export function groundedIn(metadata: JsonValue | undefined, text: string): JsonObject[] {
  const { groundingChunks: chunks, groundingSupports: supports } = membersOf(metadata);
  const pages = listIn(chunks).map((chunk) => membersOf(membersOf(chunk).web));
  const bytes = Buffer.from(text);
  const placed = listIn(supports).flatMap((support) => {
    const { segment, groundingChunkIndices: named } = membersOf(support);
    const { startIndex: start = 0, endIndex: end = 0 } = membersOf(segment);
    const isKnown = typeof start === "number" && typeof end === "number" && end <= bytes.length;
    const place = isKnown ? [start, end].map((at) => bytes.toString("utf8", 0, at).length) : [0, 0];
    return listIn(named).flatMap((i) => cited(pages[Number(i)], place));
  });
  return placed.length > 0 ? placed : pages.flatMap((page) => cited(page, [0, text.length]));
}

/** citedIn returns annotations of the pages in Cohere's citations, which are a list, or one of a stream. */
export function citedIn(citations: JsonValue | undefined): JsonObject[] {
  const all = isObject(citations) ? [citations] : listIn(citations);
  return all.filter(isObject).flatMap(({ start = 0, end = 0, sources }) =>
    listIn(sources).flatMap((source) => {
      const { document, tool_output: output } = membersOf(source);
      const { url, title } = membersOf(document ?? output);
      return cited({ uri: url ?? null, title: title ?? null }, [Number(start), Number(end)]);
    }),
  );
}

function cited(page: JsonObject | undefined, [start_index = 0, end_index = 0]: readonly number[]): JsonObject[] {
  const url = textOrEmpty(page?.uri);
  if (url === "") return [];
  const title = textOrEmpty(page?.title) || url;
  return [{ type: "url_citation", url_citation: { start_index, end_index, title, url } }];
}

function listIn(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? value : [];
}
