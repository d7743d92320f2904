/** The events of a streamed response → the whole response: it stands in the last of them. */
import type { JsonObject } from "@bufbuild/protobuf";
import { isObject } from "../../wire/json.ts";
import type { Folder } from "../dialect.ts";

export class ResponseFolder implements Folder {
  #response: JsonObject = {};

  add({ response }: JsonObject): void {
    if (isObject(response)) this.#response = response;
  }

  whole(): JsonObject {
    return this.#response;
  }
}
