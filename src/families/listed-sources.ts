/** The sources that a server of chat lists beside the choices of an answer, as Perplexity, xAI, Z.ai, Volcengine and Tencent do. */
import { isObject, type JsonObject, type JsonValue, textOrEmpty } from "../wire/json.ts";

/** Source is a web page that an answer lists. One that is no page keeps its number, and has an empty address. */
export interface Source {
  readonly url: string;
  readonly title: string;
}

/** listedSources returns the sources that stand beside the choices of an answer or a chunk. */
export function listedSources(extra: JsonObject | undefined): readonly Source[] {
  const { search_results: results, citations, web_search: searched, references, search_info: info } = extra ?? {};
  const within = isObject(info) ? info.search_results : undefined;
  const listed = [results, citations, searched, references, within].find(isFilledList) ?? [];
  return listed.map((one) => {
    const { link = one, url = link, title = "" } = isObject(one) ? one : {};
    return { url: ofPages.test(textOrEmpty(url)) ? textOrEmpty(url) : "", title: textOrEmpty(title) };
  });
}

/** Servers that look things up in files list their names under the same keys. */
const ofPages = /^https?:\/\//i;

function isFilledList(value: JsonValue | undefined): value is JsonValue[] {
  return Array.isArray(value) && value.length > 0;
}
