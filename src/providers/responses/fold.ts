/** The events of a streamed response → the whole response: it stands in the last of them. */
import type { JsonObject } from "@bufbuild/protobuf";
import { isObject } from "../../wire/json.ts";
import type { Accumulator } from "../dialect.ts";

export class ResponseAccumulator implements Accumulator {
  #response: JsonObject = {};

  add({ response }: JsonObject): void {
    if (isObject(response)) this.#response = response;
  }

  answer(): JsonObject {
    return this.#response;
  }
}
