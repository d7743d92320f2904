/**
 * The parts of a chat message → the parts of an item: texts, images, files.
 *
 * Audio is refused: a model that never heard it would answer as if it had. Vendors' additions to a part are dropped
 * and named.
 */
import { invalidValue, missingField } from "../../../call/refusals.ts";
import { type CooperativeTask, endsSlice } from "../../../runtime/cooperative.ts";
import { definedFields, isObject, type JsonObject, type JsonValue, textOrEmpty } from "../../../wire/json.ts";
import { documentAddress, isWebAddress } from "../../foreign-bodies/flat-media.ts";
import type { Dropped } from "../../paths/dropped.ts";

/** contentOf returns the content of the user's items and of instructions; a plain string stays one. */
export function* contentOf(content: JsonValue | undefined, path: string, dropped: Dropped): CooperativeTask<JsonValue> {
  if (!Array.isArray(content)) return textOrEmpty(content);
  const parts: JsonObject[] = [];
  for (const [i, part] of content.entries()) {
    if (endsSlice(i)) yield;
    if (isObject(part)) parts.push(inputPart(part, `${path}[${i}]`, dropped));
  }
  return parts;
}

/** textOfParts returns the joined texts of a message; other parts are dropped and named. */
export function* textOfParts(
  content: JsonValue | undefined,
  path: string,
  dropped: Dropped,
  between = "",
): CooperativeTask<string> {
  if (!Array.isArray(content)) return textOrEmpty(content);
  const texts: string[] = [];
  for (const [i, part] of content.entries()) {
    if (endsSlice(i)) yield;
    if (!isObject(part)) continue;
    if (typeof part.text === "string") texts.push(part.text);
    else if (typeof part.refusal === "string") texts.push(part.refusal);
    else dropped.add(`${path}[${i}]`);
  }
  return texts.join(between);
}

function inputPart(part: JsonObject, path: string, dropped: Dropped): JsonObject {
  const { type, text, image_url: image, file, document_url: _, input_audio: sound, refusal, ...more } = part;
  dropped.addExtra(more, path, ["prompt_cache_breakpoint"]);
  const { prompt_cache_breakpoint: mark } = more;
  return definedFields({ ...ownPart(part, path, dropped), prompt_cache_breakpoint: mark ?? undefined });
}

function ownPart(part: JsonObject, path: string, dropped: Dropped): JsonObject {
  const { type, text, image_url: image, file, input_audio: sound, refusal } = part;
  const address = documentAddress(part);
  if (address !== undefined) return { type: "input_file", file_url: address };
  if (typeof image === "string") return imagePart({ url: image }, path, dropped);
  if (isObject(image) || type === "image_url") return imagePart(isObject(image) ? image : {}, path, dropped);
  if (isObject(file)) return filePart(file, path);
  if (isObject(sound)) {
    throw invalidValue(`${path}.input_audio`, "this model cannot hear here; send text, images or files");
  }
  if (typeof text === "string" || typeof refusal === "string") {
    return { type: "input_text", text: textOrEmpty(text) || textOrEmpty(refusal) };
  }
  throw invalidValue(`${path}.type`, "this model cannot be given this kind of content; send text, images or files");
}

function imagePart({ url, detail, ...more }: JsonObject, path: string, dropped: Dropped): JsonObject {
  if (typeof url !== "string") throw missingField(`${path}.image_url.url`);
  dropped.addExtra(more, `${path}.image_url`);
  return { type: "input_image", image_url: url, detail: detail ?? "auto" };
}

function filePart({ file_data: data, file_id, filename }: JsonObject, path: string): JsonObject {
  if (typeof data !== "string") {
    if (typeof file_id !== "string") throw missingField(`${path}.file.file_data`);
    return { type: "input_file", file_id };
  }
  if (isWebAddress(data)) return { type: "input_file", file_url: data };
  return definedFields({ type: "input_file", filename: filename ?? "file.pdf", file_data: data });
}
