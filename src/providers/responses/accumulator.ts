/** Accumulates the events of a streamed response: the last event holds the whole response. */
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
