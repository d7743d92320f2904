/**
 * Images and files → blocks with a source.
 *
 * The model reads jpeg, png, gif, webp, PDF and plain text, and so a file of any type that is text: code and data have
 * types of their own, or the wrong one. Anything else is refused with its path: an answer about an unseen image would be
 * worse than none.
 */
import type { InputFile } from "../../../../gen/modelgateway/v1/chat_pb.ts";
import { invalidValue, missingField } from "../../../call/refusals.ts";
import { pictureType } from "../../../providers/anthropic/picture-type.ts";
import type { CooperativeTask } from "../../../runtime/cooperative.ts";
import type { JsonObject } from "../../../wire/json.ts";
import { isWebAddress } from "../../foreign-bodies/flat-media.ts";
import { declaredText, undeclaredText } from "./file-text.ts";

const pictures = ["image/jpeg", "image/png", "image/gif", "image/webp"];
/** The beginning of every PDF in base64. */
const pdfMagic = "JVBERi";

interface Data {
  readonly mediaType: string;
  /** In base64. */
  readonly base64: string;
}

export function* imageBlock(url: string | undefined, path: string): CooperativeTask<JsonObject> {
  if (url === undefined) throw missingField(path);
  if (isWebAddress(url)) return addressBlock(/\.pdf(?:[?#]|$)/i.test(url) ? "document" : "image", url);
  // Some clients of local servers send the bare base64.
  const data = readDataUri(url) ?? (pictureType(url) ? { mediaType: "", base64: url } : undefined);
  if (!data) throw invalidValue(path, "expected an http(s) URL, or a data URI in base64");
  return yield* dataBlock(data, path, false);
}

export function* fileBlock({ fileData, fileId, filename }: InputFile, path: string): CooperativeTask<JsonObject> {
  const titled = filename ? { title: filename } : {};
  if (fileData === undefined) {
    if (fileId === undefined) throw missingField(`${path}.file_data`);
    // Ids of the Messages API's own files. Other vendors' ids have other prefixes.
    if (fileId.startsWith("file_")) {
      return { type: "document", source: { type: "file", file_id: fileId }, ...titled };
    }
    throw invalidValue(`${path}.file_id`, "the model's upstream does not have this file; send it in `file_data`");
  }
  if (isWebAddress(fileData)) return { ...addressBlock("document", fileData), ...titled };
  const data = readDataUri(fileData) ?? { mediaType: "", base64: fileData };
  const block = yield* dataBlock(data, `${path}.file_data`, true);
  return block.type === "document" ? { ...block, ...titled } : block;
}

function addressBlock(type: string, url: string): JsonObject {
  return { type, source: { type: "url", url } };
}

/** The longest head of a data URI, in characters. Without a bound a caller could send any number of parameters. */
const longestDataHead = 1_000;

/** readDataUri reads `data:<type>;…;base64,<data>`; undefined for anything else. */
function readDataUri(text: string): Data | undefined {
  if (!/^data:/i.test(text)) return undefined;
  const comma = text.slice(0, longestDataHead).indexOf(",");
  const [type = "", ...parameters] = text.slice("data:".length, Math.max(comma, 0)).toLowerCase().split(";");
  if (comma === -1 || parameters.at(-1)?.trim() !== "base64") return undefined;
  return { mediaType: type.trim(), base64: text.slice(comma + 1) };
}

/** dataBlock returns the block of data. `isFile` says that it may be text, whatever its type says: TypeScript goes by that of a video. */
function* dataBlock({ mediaType, base64 }: Data, path: string, isFile: boolean): CooperativeTask<JsonObject> {
  if (base64.trim() === "") throw invalidValue(path, "it holds no data");
  const declared = mediaType === "image/jpg" ? "image/jpeg" : mediaType;
  const type = pictures.includes(declared) ? declared : (pictureType(base64) ?? declared);
  if (pictures.includes(type)) return { type: "image", source: { type: "base64", media_type: type, data: base64 } };
  const pdf = { type: "document", source: { type: "base64", media_type: "application/pdf", data: base64 } };
  // The declared type is ignored for PDFs: browsers and raw base64 declare nothing useful.
  if (base64.startsWith(pdfMagic)) return pdf;
  if (type.startsWith("text/")) return textDocument(yield* declaredText(base64));
  const text = isFile ? yield* undeclaredText(base64) : undefined;
  if (text !== undefined) return textDocument(text);
  if (type === "application/pdf") return pdf;
  throw invalidValue(path, "the model reads images as jpeg, png, gif or webp, and files as PDF or text");
}

function textDocument(data: string): JsonObject {
  return { type: "document", source: { type: "text", media_type: "text/plain", data } };
}
