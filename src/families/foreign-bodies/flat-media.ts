/**
 * Media whose bytes, text or address stand in the part itself → chat's part of the same meaning: files of the AI SDK, sounds and videos of
 * LangChain, `media` of Gemini's wrappers, sounds and resources of MCP's results. So do those that stand in an object of a name that chat does
 * not have, with or without a type: Gemini's own parts, Genkit's, and langchaingo's. The media type says what it is, else the first bytes.
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

const flatTypes: ReadonlySet<JsonValue | undefined> = new Set(["file", "audio", "video", "media"]);

/** flatPart returns undefined for a part that is no such one. */
export function flatPart(part: JsonObject): JsonObject | undefined {
  const { type } = part;
  const marks = definedFields({ cache_control: part.cache_control });
  const isResource = type === "resource" || type === "resource_link";
  const chat = isResource ? resourcePart(part) : (mediumPart(part) ?? wrappedPart(part));
  return chat && { ...chat, ...marks };
}

function mediumPart(part: JsonObject): JsonObject | undefined {
  const { type, filename, name, title } = part;
  // In an object of its own name it is chat's.
  if (!flatTypes.has(type) || isObject(part[type as string])) return undefined;
  const medium = mediumIn(part);
  const called = [filename, name, title].find((one) => textOrEmpty(one) !== "");
  if (medium.text !== undefined && medium.given === undefined) return { type: "text", text: medium.text };
  if (medium.given !== undefined) return chatPart(type as string, medium, called);
  const { file_id } = part;
  return type === "file" && typeof file_id === "string"
    ? { type, file: definedFields({ filename: called, file_id }) }
    : undefined;
}

/** wrappers are the members with a medium in an object, and what it is where nothing else says so. */
const wrappers: ReadonlyMap<JsonValue, string> = new Map([
  ...(["image", "image_base64"] as const).map((key) => [key, "image"] as const),
  ...(["document", "binary"] as const).map((key) => [key, "file"] as const),
  ...(["media", "inline_data", "inlineData", "file_data", "fileData"] as const).map((key) => [key, "media"] as const),
]);

/** wrappedPart reads a part that is typed by its wrapper, or by nothing. */
function wrappedPart(part: JsonObject): JsonObject | undefined {
  const { type = null } = part;
  const key = type ?? Object.keys(part).find((member) => wrappers.has(member));
  const kind = wrappers.get(key ?? "");
  const wrapped = kind === undefined ? undefined : part[key as string];
  if (kind === undefined || !isObject(wrapped)) return undefined;
  const medium = mediumIn(wrapped);
  const called = [wrapped.filename, wrapped.name, wrapped.title].find((one) => textOrEmpty(one) !== "");
  return medium.given === undefined ? undefined : chatPart(kind, medium, called);
}

interface Medium {
  /** given is an address, or data in base64 or in a data URI. */
  readonly given: string | undefined;
  readonly mediaType: string;
  readonly text?: string | undefined;
}

/** mediumIn reads a part, or the object that it has for its data or its source. */
function mediumIn(part: JsonObject): Medium {
  const { data, source } = part;
  const inner = isObject(data) ? data : isObject(source) ? source : {};
  const own = { ...part, ...inner };
  const told = [own.data, own.base64, own.url, own.file_data, own.file_url, own.blob, own.file_uri, own.fileUri];
  const given = told.find(isFilledText);
  const types = [own.mediaType, own.mimeType, own.media_type, own.mime_type, own.contentType];
  const mediaType = textOrEmpty(types.find((one) => textOrEmpty(one) !== "")).toLowerCase();
  return { given, mediaType, text: typeof own.text === "string" ? own.text : undefined };
}

const typeInUri = /^data:([^;,]*)/i;

/** isWebAddress reports an address on the web, and no data. */
export function isWebAddress(text: string): boolean {
  return /^https?:\/\//i.test(text);
}

/** isWholeType reports a media type that is not merely a class, as `image/*`. */
export function isWholeType(type: string): boolean {
  return /^[\w.+-]+\/[\w.+-]+$/.test(type);
}

function chatPart(partType: string, { given = "", mediaType }: Medium, filename: JsonValue | undefined): JsonObject {
  const isRemote = isWebAddress(given);
  const [, inUri = ""] = typeInUri.exec(given.slice(0, longestHead)) ?? [];
  const named = [inUri.toLowerCase(), mediaType].find(isWholeType);
  const type = named ?? (isRemote ? `${mediaType || partType}` : typeOfBytes(partType, given));
  const url = isRemote || /^data:/i.test(given) ? given : `data:${type};base64,${given}`;
  const kind = type.replace(/\/.*/s, "");
  if (kind === "image") return { type: "image_url", image_url: { url } };
  if (kind === "video") return { type: "video_url", video_url: { url } };
  if (kind !== "audio")
    return { type: "file", file: definedFields({ filename: filename ?? fileName(type, isRemote), file_data: url }) };
  if (isRemote) return { type: "audio_url", audio_url: { url } };
  return { type: "input_audio", input_audio: { data: url.slice(url.indexOf(",") + 1), format: formatOf(type) } };
}

/** longestHead is how many characters may stand before the data of a data URI. */
const longestHead = 200;

/** typeOfBytes returns the media type of data in base64. */
function typeOfBytes(partType: string, data: string): string {
  if (partType === "audio") return data.startsWith("UklGR") ? "audio/wav" : "audio/mpeg";
  if (partType === "video") return "video/mp4";
  return pictureType(data) ?? (data.startsWith("JVBERi") ? "application/pdf" : "application/octet-stream");
}

function fileName(type: string, isRemote: boolean): string | undefined {
  if (isRemote) return undefined;
  return type === "application/pdf" ? "document.pdf" : "file";
}

/** formats are the words for types of sounds whose name is another one. */
const formats: ReadonlyMap<string, string> = new Map([
  ["mpeg", "mp3"],
  ["wave", "wav"],
  ["vnd.wave", "wav"],
]);

/** formatOf returns the format of a sound, as chat has it, by its media type. */
function formatOf(mediaType: string): string {
  const name = mediaType.replace(/^audio\/(?:x-)?/i, "").toLowerCase();
  return formats.get(name) ?? name;
}

/** resourcePart reads what an MCP server embeds, or names. */
function resourcePart({ type, resource, uri, name, title }: JsonObject): JsonObject | undefined {
  if (type === "resource_link" && typeof uri === "string") {
    const called = textOrEmpty(title) || textOrEmpty(name);
    return { type: "text", text: called === "" ? uri : `${called}: ${uri}` };
  }
  if (!isObject(resource)) return undefined;
  if (typeof resource.text === "string") return { type: "text", text: resource.text };
  const medium = mediumIn(resource);
  const filename = textOrEmpty(resource.uri).slice(0, longestHead).split("/").at(-1);
  return resource.blob === undefined || medium.given === undefined
    ? undefined
    : chatPart("file", medium, filename || undefined);
}

/** documentAddress returns the address of a document in Mistral's words; undefined for any other part. */
export function documentAddress({ type, document_url: told }: JsonObject): string | undefined {
  const url = isObject(told) ? told.url : told;
  return type === "document_url" && typeof url === "string" ? url : undefined;
}

/** addressedFile returns such a document as a file of chat; undefined for any other part. */
export function addressedFile(part: JsonObject): JsonObject | undefined {
  const address = documentAddress(part);
  if (address === undefined) return undefined;
  const { document_name: filename, cache_control } = part;
  return { type: "file", file: definedFields({ filename, file_data: address }), ...definedFields({ cache_control }) };
}
