/**
 * Images and documents of a chat's content in the words of others: an image as the AI SDK, Qwen's templates and MCP's results have it, a
 * document as the Messages API has it, and a file by its address.
 */
import { pictureType } from "../../providers/anthropic/picture-type.ts";
import {
  definedFields,
  isFilledText,
  isObject,
  type JsonObject,
  type JsonValue,
  textOrEmpty,
} from "../../wire/json.ts";
import { flatPart, isWholeType } from "./flat-media.ts";

/** mediaPart returns chat's part of the same meaning; undefined where the part is no such one. */
export function mediaPart(part: JsonObject): JsonObject | undefined {
  const { type, file } = part;
  if (type === "image") return imagePart(part) ?? flatPart(part);
  if (type === "document") return documentPart(part) ?? flatPart(part);
  const flat = flatPart(part);
  if (flat) return flat;
  const isFile = type === "file" && isObject(file) && typeof file.file_url === "string";
  if (isFile && (file.file_data ?? file.file_id ?? null) === null) {
    const { file_url: address, file_data: _, file_id: __, ...more } = file;
    return { ...part, file: { ...more, file_data: address as JsonValue } };
  }
  if (type !== "input_file" || typeof part.file_url !== "string") return undefined;
  const { file_url, filename, file_data, file_id, ...rest } = part;
  if ((file_data ?? file_id ?? null) !== null) return undefined;
  return { ...rest, type: "file", file: definedFields({ filename, file_data: file_url }) };
}

/** imagePart reads an image by its address or data. Its type may be named, in one of three spellings. */
function imagePart(part: JsonObject): JsonObject | undefined {
  const { image, url, data, base64, source, image_url: told, detail, ...more } = part;
  const { mimeType, mediaType, media_type, mime_type, source_type: _, ...rest } = more;
  const given = [image, url, data, base64, told].find(isFilledText);
  if (isObject(source) || typeof given !== "string") return undefined;
  const named = [mimeType, mediaType, media_type, mime_type].map((one) => textOrEmpty(one)).find(isWholeType);
  const isAddress = /^(https?:\/\/|data:)/i.test(given);
  const address = isAddress ? given : `data:${named || (pictureType(given) ?? "image/png")};base64,${given}`;
  return { ...rest, type: "image_url", image_url: definedFields({ url: address, detail }) };
}

/** documentPart reads a document of the Messages API that has nothing which chat lacks. */
function documentPart({ type: _, source, title, cache_control: mark, ...more }: JsonObject): JsonObject | undefined {
  if (!isObject(source) || Object.values(more).some((value) => value !== null)) return undefined;
  const { type, url, media_type: media, data } = source;
  const isData = type === "base64" && typeof media === "string" && typeof data === "string";
  const file_data = type === "url" ? url : isData ? `data:${media};base64,${data}` : undefined;
  if (typeof file_data !== "string") return undefined;
  const filename = typeof title === "string" ? title : type === "url" ? undefined : "document.pdf";
  return { type: "file", file: definedFields({ filename, file_data }), ...definedFields({ cache_control: mark }) };
}
