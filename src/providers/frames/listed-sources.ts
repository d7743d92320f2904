/**
 * The sources that a server of chat lists beside the choices of an answer, as Perplexity, xAI, Z.ai, Volcengine and Tencent do, as annotations
 * of the text, where it has none of its own. The text may name them by number (`[1]`).
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isFilledText, isObject } from "../../wire/json.ts";

/** Source is a web page that an answer lists. One that is no page keeps its number, and has an empty address. */
interface Source {
  readonly url: string;
  readonly title: string;
}

/** Servers that look things up in files list their names under the same keys. */
const ofPages = /^https?:\/\//i;

/** listedSources returns the sources that stand beside the choices of an answer or a chunk. */
export function listedSources(answer: JsonObject): readonly Source[] {
  const { search_results: results, citations, web_search: searched, references, search_info: info } = answer;
  const within = isObject(info) ? info.search_results : undefined;
  const listed = [results, citations, searched, references, within].find(isFilledList) ?? [];
  return listed.map((one) => {
    const { link = one, url = link, title = "" } = isObject(one) ? one : {};
    const isPage = typeof url === "string" && ofPages.test(url);
    return { url: isPage ? url : "", title: typeof title === "string" ? title : "" };
  });
}

function isFilledList(value: JsonValue | undefined): value is JsonValue[] {
  return Array.isArray(value) && value.length > 0;
}

/** named matches the number by which a text names a source, as it is counted: `[01]` is none. longestName is the most signs of one. */
const named = /\[([1-9]\d{0,4})\]/g;
const longestName = 7;
/** mostNamed is how many numbers are kept of a text: more sources are hardly listed. */
const mostNamed = 1000;

/** NamedPlaces keeps where a text, which may come in pieces, names each number first, and not the text: there may be many, and long ones. */
class NamedPlaces {
  readonly #first = new Map<number, number>();
  /** The beginning of a name whose end has not come. */
  #begun = "";
  /** length is that of the text so far, in UTF-16 units. */
  length = 0;

  add(piece: string): void {
    if (this.#begun !== "" || piece.includes("[")) this.#look(this.#begun + piece);
    this.length += piece.length;
  }

  #look(text: string): void {
    const before = this.length - this.#begun.length;
    for (const { 1: number, index } of text.matchAll(named)) {
      if (this.#first.size < mostNamed && !this.#first.has(Number(number)))
        this.#first.set(Number(number), before + index);
    }
    const last = text.slice(1 - longestName);
    this.#begun = /\[\d*$/.exec(last)?.[0] ?? "";
  }

  /** placeOf returns where the text names a number; all of it where it does not. */
  placeOf(number: number): { readonly start_index: number; readonly end_index: number } {
    const at = this.#first.get(number);
    if (at === undefined) return { start_index: 0, end_index: this.length };
    return { start_index: at, end_index: at + `[${number}]`.length };
  }
}

/** annotationsOf returns the pages where a text names them first; one that it does not name is one of the whole text. */
function annotationsOf(sources: readonly Source[], places: NamedPlaces): JsonObject[] {
  return sources.flatMap(({ url, title }, i) => {
    if (url === "") return [];
    return [{ type: "url_citation", url_citation: { ...places.placeOf(i + 1), title: title || url, url } }];
  });
}

/** withSources returns a message whose text has these sources; the same object where it has some of its own, or no text. */
export function withSources(message: JsonObject, sources: readonly Source[]): JsonObject {
  const { content, annotations = null } = message;
  if (!isFilledText(content) || isFilledList(annotations)) return message;
  if (sources.length === 0) return message;
  const places = new NamedPlaces();
  places.add(content);
  const told = annotationsOf(sources, places);
  return told.length === 0 ? message : { ...message, annotations: told };
}

/** SourcesOfStream keeps the places of sources in the text of a stream's only choice, and those that its last chunk with any lists. */
export class SourcesOfStream {
  #sources: readonly Source[] = [];
  readonly #places = new NamedPlaces();
  #index: JsonValue = 0;
  /** Whether the choice has annotations already: of its own, or these. */
  #isTold = false;

  /** length is that of the text so far, in UTF-16 units. */
  get length(): number {
    return this.#places.length;
  }

  take(chunk: JsonObject, choices: readonly JsonValue[]): void {
    const listed = listedSources(chunk);
    if (listed.length > 0) this.#sources = listed;
    for (const choice of choices) {
      const { delta, index = 0 } = isObject(choice) ? choice : {};
      if (!isObject(delta)) continue;
      const { content, annotations = null } = delta;
      if (isFilledText(content)) {
        this.#places.add(content);
        this.#index = index;
      }
      this.#isTold ||= isFilledList(annotations);
    }
  }

  /** Takes the text of a chunk that says nothing else. */
  say(text: string): void {
    this.#places.add(text);
  }

  /** choice returns the part of the choice that tells the sources, once; undefined where there is nothing to tell. */
  choice(): JsonObject | undefined {
    if (this.#isTold || this.length === 0) return undefined;
    const annotations = annotationsOf(this.#sources, this.#places);
    if (annotations.length === 0) return undefined;
    this.#isTold = true;
    return { index: this.#index, delta: { annotations }, logprobs: null, finish_reason: null };
  }
}
