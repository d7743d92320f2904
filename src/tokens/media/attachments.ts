/**
 * Finds what a request has besides text, in any family: images, sounds, documents, videos. Each counts by what its vendor makes of it, and
 * not by its bytes.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isObject } from "../../wire/is-object.ts";
import type { Wire } from "../../wire/wire.ts";
import { type Count, documentSize, documentTokensOf, isPdf, pdfIn } from "./document-tokens.ts";
import { type ImageRule, unknownImage, usualImage } from "./image-rules.ts";
import { imageRulesFor, imageTokens, sizeOfImage, soundTokens } from "./media-tokens.ts";
import type { PdfSize } from "./pdf-size.ts";

/** Attached is all attachments of a request together. */
export interface Attached {
  /** Their length in the request, in bytes: no text. */
  readonly bytes: number;
  /** The most tokens that they count as. */
  readonly tokens: number;
  /** isUnseen is whether the gateway cannot see how much one of them is. */
  readonly isUnseen: boolean;
}

/** The keys whose value is an attachment, in any family. Some servers have one named as the type of its part is. */
const kinds: ReadonlyMap<string, Kind> = new Map<string, Kind>([
  ["image_url", "image"],
  ["image", "image"],
  ["image_base64", "image"], // Voyage
  ["input_audio", "sound"],
  ["audio_url", "sound"],
  ["audio", "sound"],
  ["file", "document"],
  ["source", "document"],
  ["file_id", "document"],
  ["file_data", "document"],
  ["file_url", "document"],
  ["document", "document"],
  ["video", "document"],
  ["input_video", "document"],
  ["video_base64", "document"],
]);

/** kindAt returns what the value of a key is as an attachment. A URL by a name that nobody knows is fetched all the same. */
function kindAt(key: string): Kind | undefined {
  return kinds.get(key) ?? (key.endsWith("_url") ? "document" : undefined);
}

/** Tokens of a sound that a model of the vendor has made before, which a message names by its id: as many as an answer has at most, and usually. */
const earlierSound: Readonly<Record<Count, number>> = { most: 16_384, usual: 500 };

type Kind = "image" | "sound" | "document";

/**
 * attachedTo returns the attachments of a request. `models` are the names of its model at its vendors: of several rules the dearest counts.
 * `most` is for holds; `usual` for a count that stands in for a vendor's. PDFs that `readDocuments` has not read before cannot be seen.
 */
export function attachedTo(request: Wire, models: readonly string[] = [], count: Count = "most"): Attached {
  const found: Found = { request, models, count, rules: undefined, bytes: 0, tokens: 0, isUnseen: false };
  addAll(found);
  return found;
}

/** UnreadPdf is a PDF of a request that has not been read. */
export interface UnreadPdf {
  /** Its base64, in memory of its own. */
  readonly encoded: Buffer<ArrayBuffer>;
  /** Keeps what was read of it for as long as the request is there; undefined where nothing could be. */
  keep(size: PdfSize | undefined): void;
}

/** unreadPdfs returns the PDFs of a request that have not been read. */
export function unreadPdfs(request: Wire): readonly UnreadPdf[] {
  unreadIn.delete(request);
  const unread: UnreadPdf[] = [];
  addAll({ request, models: [], count: "usual", rules: undefined, bytes: 0, tokens: 0, isUnseen: false, unread });
  return unread;
}

function addAll(found: Found): void {
  const { messages, input, system } = found.request.outline();
  add(messages, false, found);
  add(input, true, found);
  add(system, true, found);
}

interface Found {
  readonly request: Wire;
  readonly count: Count;
  readonly models: readonly string[];
  /** Of the models; looked up with the first image. */
  rules: readonly ImageRule[] | undefined;
  bytes: number;
  tokens: number;
  isUnseen: boolean;
  /** Takes the PDFs that have not been read; unset where they are not looked for. */
  readonly unread?: UnreadPdf[];
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
    const kind = inContent ? kindAt(key) : undefined;
    if (key === "content" || key === "output" || isContentSource(key, member)) add(member, true, found);
    else if (kind !== undefined && Array.isArray(member)) addUnseen(found);
    else if (kind !== undefined && isAttachment(key, member)) addAttachment(kind, value, key, found);
    else if (!inContent && key === "audio" && isObject(member)) addUnseen(found, earlierSound[found.count]);
  }
}

/** addUnseen adds what the gateway cannot see: its bytes count, too. */
function addUnseen(found: Found, tokens = documentTokensOf({ kind: "elsewhere" }, rulesOf(found), found.count)): void {
  found.tokens += tokens;
  found.isUnseen = true;
}

/** isContentSource reports whether a member is an Anthropic document that is given as content blocks. */
function isContentSource(key: string, member: JsonValue): boolean {
  return key === "source" && isObject(member) && member.type === "content";
}

/** isAttachment reports whether a member is an attachment. The source of a search result, and of a document in plain text, is text. */
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
  if (found.unread) {
    if (!isImage && kind === "document" && key !== "file_id") addUnread(inner, innerKey ?? "", text, found.unread);
  } else if (isImage) found.tokens += imageTokensOf(text, inner.detail, found);
  else if (kind === "sound" && text !== undefined && !isElsewhere(text)) found.tokens += soundTokens(text, found.count);
  else found.tokens += documentTokensFound(inner, innerKey ?? "", key === "file_id" ? undefined : text, found);
}

/** isElsewhere reports whether a text names a sound by its URL. */
function isElsewhere(text: string | Buffer): boolean {
  const head = typeof text === "string" ? text.slice(0, 16) : text.toString("latin1", 0, 16);
  return /^(?!data:)[a-z][a-z0-9+.-]*:/i.test(head);
}

/** The requests in which PDFs were met that have not been read. */
const unreadIn = new WeakSet<Wire>();

/** hasUnread reports whether `attachedTo` has met PDFs in a request that have not been read. */
export function hasUnread(request: Wire): boolean {
  return unreadIn.has(request);
}

/** sizes are what was read of PDFs: the object that holds one stands for it as long as the request is there. */
const sizes = new WeakMap<JsonObject, { readonly key: string; readonly size: PdfSize | undefined }>();

function addUnread(holder: JsonObject, key: string, text: string | Buffer | undefined, unread: UnreadPdf[]): void {
  if (sizes.get(holder)?.key === key) return;
  const encoded = pdfIn(text);
  if (encoded) unread.push({ encoded, keep: (size) => void sizes.set(holder, { key, size }) });
}

function documentTokensFound(holder: JsonObject, key: string, text: string | Buffer | undefined, found: Found): number {
  const read = sizes.get(holder);
  const isRead = read?.key === key;
  const size = documentSize(text, isRead ? read.size : undefined);
  if (size.kind === "file" && !isRead && isPdf(text)) unreadIn.add(found.request);
  if (size.kind === "elsewhere" || size.kind === "file" || (size.kind === "pdf" && size.textBytes === undefined)) {
    found.isUnseen = true;
  }
  return documentTokensOf(size, rulesOf(found), found.count);
}

function rulesOf(found: Found): readonly ImageRule[] {
  found.rules ??= imageRulesFor(found.models.length === 0 ? [""] : found.models);
  return found.rules;
}

/** imageTokensOf returns the most that an image counts as by the rules of any of the models. */
function imageTokensOf(text: string | Buffer | undefined, detail: JsonValue | undefined, found: Found): number {
  const rules = rulesOf(found);
  const size = text === undefined ? undefined : sizeOfImage(text);
  const by = (rule: ImageRule) => imageTokens(rule, size, typeof detail === "string" ? detail : undefined);
  return found.count === "usual" && rules.every((rule) => rule === unknownImage)
    ? imageTokens(usualImage, size)
    : Math.max(...rules.map(by));
}

/** The keys that hold what is encoded in an attachment; the rest of it is text. */
const encoded = ["url", "data", "file_data"];

/** encodedKey returns the key of what is encoded; undefined where there are several, of which nobody knows which one a server reads. */
function encodedKey(attachment: JsonObject): string | undefined {
  const keys = encoded.filter((key) => typeof attachment[key] === "string" && attachment[key] !== "");
  return keys.length === 1 ? keys[0] : undefined;
}

function encodedLength(attachment: JsonObject): number {
  let length = 0;
  for (const key of encoded) {
    const value = attachment[key];
    if (typeof value === "string") length += value.length;
  }
  return length;
}
