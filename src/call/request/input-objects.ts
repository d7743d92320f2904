/**
 * Objects in the place of a text, which only embeddings take: one has a picture, a sound, a video or a file in the form of its model's server.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isObject } from "../../wire/json.ts";
import { invalidType } from "../refusals.ts";

/** named matches a member that holds a medium, or says which: `image_url`, `content`, `inline_data`. Each server has words of its own. */
const named = /text|content|part|image|audio|sound|video|pdf|doc|file|media|data|url|type/i;

/**
 * refuseOddObjects throws a Refusal for the first object that cannot be an input: any in `prompt`, and one in `input` that names no medium.
 * It takes an outline, too.
 */
export function refuseOddObjects({ prompt = null, input = null }: JsonObject): void {
  const path = firstOdd(prompt, "prompt", () => true) ?? firstOdd(input, "input", (one) => !namesMedium(one));
  if (path)
    throw invalidType(
      path,
      "expected a text or its tokens, or, for embeddings, an object with an image or another medium",
    );
}

function namesMedium(input: JsonObject): boolean {
  return Object.keys(input).some((key) => named.test(key));
}

function firstOdd(value: JsonValue, path: string, isOdd: (one: JsonObject) => boolean): string | undefined {
  if (isObject(value)) return isOdd(value) ? path : undefined;
  if (!Array.isArray(value)) return undefined;
  const place = value.findIndex((one) => isObject(one) && isOdd(one));
  return place < 0 ? undefined : `${path}[${place}]`;
}
