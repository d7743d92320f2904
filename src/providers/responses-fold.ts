/**
 * The events of a streamed response → the whole response: it stands in the last of them. Servers that leave the items out there have
 * told them one by one before.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isObject } from "../wire/json.ts";
import type { Folder } from "./dialect.ts";

export class ResponseFolder implements Folder {
  #response: JsonObject = {};
  /** By their place. */
  readonly #items = new Map<JsonValue, JsonObject>();

  add({ type, response, item, output_index: index = this.#items.size }: JsonObject): void {
    if (isObject(response)) this.#response = response;
    if (type === "response.output_item.done" && isObject(item)) this.#items.set(index, item);
  }

  whole(): JsonObject {
    const { output } = this.#response;
    if (Array.isArray(output) && (output.length > 0 || this.#items.size === 0)) return this.#response;
    const inOrder = [...this.#items].sort(([a], [b]) => Number(a) - Number(b));
    return { ...this.#response, output: inOrder.map(([, item]) => item) };
  }
}
