/**
 * Translates the images and sources in answers of Gemini's and Cohere's own APIs into members of a chat message: `images`, and `annotations` of
 * the web pages that a text rests on. `grounded-text.ts` finds the places of Gemini's. A source without an address is left out, for an
 * annotation needs one.
 */
import { isObject, type JsonObject, type JsonValue, listOrEmpty, textOrEmpty } from "../../../wire/json.ts";
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

/** citedIn returns annotations of the pages in Cohere's citations, which are a list, or one of a stream. */
export function citedIn(citations: JsonValue | undefined): JsonObject[] {
  const all = isObject(citations) ? [citations] : listOrEmpty(citations);
  return all.filter(isObject).flatMap(({ start = 0, end = 0, sources }) =>
    listOrEmpty(sources).flatMap((source) => {
      const { document, tool_output: output } = membersOf(source);
      const { url, title } = membersOf(document ?? output);
      return cited({ uri: url ?? null, title: title ?? null }, [placeIn(start), placeIn(end)]);
    }),
  );
}

/** placeIn returns a place in a text; 0 for what is none. */
function placeIn(value: JsonValue): number {
  return typeof value === "number" && Number.isInteger(value) && value >= 0 ? value : 0;
}

/** cited returns the annotation of a page at a place of the text; none for a page without an address. */
export function cited(page: JsonObject | undefined, [start_index, end_index]: readonly [number, number]): JsonObject[] {
  const url = textOrEmpty(page?.uri);
  if (url === "") return [];
  const title = textOrEmpty(page?.title) || url;
  return [{ type: "url_citation", url_citation: { start_index, end_index, title, url } }];
}
