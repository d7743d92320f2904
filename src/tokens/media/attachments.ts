/**
 * Finds what a request has besides text, in any family: images, sounds, documents, videos. Each counts by what its vendor makes of it, and
 * not by its bytes.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { Wire } from "../../wire/wire.ts";
import { type ImageRule, unknownImage, usualImage } from "./image-rules.ts";
import { imageRulesFor, imageTokens, sizeOfImage, soundTokens } from "./media-tokens.ts";

/** Attached is all attachments of a request together. */
export interface Attached {
  /** Their length in the request, in bytes: no text. */
  readonly bytes: number;
  /** The most tokens that they count as. */
  readonly tokens: number;
}

/** The most tokens that a document or a video counts as, where the model's context does not bound it. */
const documentTokens = 1_000_000;

/** What a document usually has: bytes a page, and tokens a page, with its picture. */
const [bytesPerPage, tokensPerPage] = [50_000, 2_500];
/** Pages of a document that the gateway cannot see. */
const unseenPages = 10;

function documentGuess(text: string | Buffer | undefined): number {
  const bytes = text === undefined ? 0 : (text.length * 3) / 4;
  return tokensPerPage * (text === undefined ? unseenPages : Math.max(1, Math.ceil(bytes / bytesPerPage)));
}

/** The keys whose value is an attachment, in any family. */
const kinds: ReadonlyMap<string, Kind> = new Map<string, Kind>([
  ["image_url", "image"],
  ["input_audio", "sound"],
  ["file", "document"],
  ["source", "document"],
  ["file_id", "document"],
  ["file_data", "document"],
  ["file_url", "document"],
  ["video_url", "document"],
  ["input_video", "document"],
]);

type Kind = "image" | "sound" | "document";

/**
 * Returns the attachments of a request. `models` are the names of its model at its vendors: of several rules the dearest counts. `most`
 * is for holds; `usual` for a count that stands in for a vendor's.
 */
export function attachedTo(request: Wire, models: readonly string[] = [], count: Count = "most"): Attached {
  const found: Found = { request, models, count, rules: undefined, bytes: 0, tokens: 0 };
  const { messages, input } = request.outline();
  add(messages, false, found);
  add(input, true, found);
  return found;
}

export type Count = "most" | "usual";

interface Found {
  readonly request: Wire;
  readonly count: Count;
  readonly models: readonly string[];
  /** Of the models; looked up with the first image. */
  rules: readonly ImageRule[] | undefined;
  bytes: number;
  tokens: number;
}

function add(value: JsonValue | undefined, inContent: boolean, found: Found): void {
  if (typeof value !== "object" || value === null) return;
  if (Array.isArray(value)) {
    // It may be a list of a million numbers.
    for (const item of value) if (typeof item === "object") add(item, inContent, found);
    return;
  }
  for (const key in value) {
    const member = value[key] as JsonValue;
    const kind = inContent ? kinds.get(key) : undefined;
    if (key === "content" || key === "output" || isContentSource(key, member)) add(member, true, found);
    else if (kind !== undefined && isAttachment(key, member)) addAttachment(kind, value, key, found);
  }
}

/** Reports whether a member is an Anthropic document that is given as content blocks. */
function isContentSource(key: string, member: JsonValue): boolean {
  return key === "source" && isObject(member) && member.type === "content";
}

/** Reports whether a member is an attachment. The source of a search result, and of a document in plain text, is text. */
function isAttachment(key: string, member: JsonValue): boolean {
  if (key === "source") return isObject(member) && member.type !== "text";
  return typeof member === "string" || isObject(member);
}

function addAttachment(kind: Kind, holder: JsonObject, key: string, found: Found): void {
  const isImage = kind === "image" || holder.type === "image" || holder.type === "input_image";
  const member = holder[key] as string | JsonObject;
  const [inner, innerKey] = typeof member === "string" ? [holder, key] : [member, encodedKey(member)];
  found.bytes += typeof member === "string" ? member.length : encodedLength(member);
  const text = innerKey === undefined ? undefined : found.request.longText(inner, innerKey);
  if (isImage) found.tokens += imageTokensOf(text, inner.detail ?? holder.detail, found);
  else if (kind === "sound" && text !== undefined) found.tokens += soundTokens(text, found.count);
  else found.tokens += found.count === "most" ? documentTokens : documentGuess(text);
}

/** Returns the most that an image counts as by the rules of any of the models. */
function imageTokensOf(text: string | Buffer | undefined, detail: JsonValue | undefined, found: Found): number {
  found.rules ??= imageRulesFor(found.models.length === 0 ? [""] : found.models);
  const size = text === undefined ? undefined : sizeOfImage(text);
  const by = (rule: ImageRule) => imageTokens(rule, size, typeof detail === "string" ? detail : undefined);
  return found.count === "usual" && found.rules.every((rule) => rule === unknownImage)
    ? imageTokens(usualImage, size)
    : Math.max(...found.rules.map(by));
}

/** The keys that hold what is encoded in an attachment; the rest of it is text. */
const encoded = ["url", "data", "file_data"];

function encodedKey(attachment: JsonObject): string | undefined {
  return encoded.find((key) => typeof attachment[key] === "string");
}

function encodedLength(attachment: JsonObject): number {
  let length = 0;
  for (const key of encoded) {
    const value = attachment[key];
    if (typeof value === "string") length += value.length;
  }
  return length;
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
