/**
 * Counts a document as tokens, as its vendor counts it: each page of a PDF as an image beside its text, a text by its bytes.
 *
 * Anthropic says 1,500 to 3,000 tokens of text a page, beside its image. OpenAI's models get the text and an image of each page. Gemini
 * counts a page like an image, and its text not at all; it is counted here, too, since other gateways in front of it extract it.
 */
import { type ImageRule, unknownImage, usualImage } from "./image-rules.ts";
import type { ImageSize } from "./image-size.ts";
import { imageTokens } from "./media-tokens.ts";
import type { PdfSize } from "./pdf-size.ts";

/** DocumentSize is what the gateway knows of a document. */
export type DocumentSize =
  | { readonly kind: "pdf"; readonly pages: number; readonly textBytes: number | undefined }
  | { readonly kind: "text"; readonly bytes: number }
  /** A file that it cannot read. */
  | { readonly kind: "file"; readonly bytes: number }
  /** One that the request only names. */
  | { readonly kind: "elsewhere" };

export type Count = "most" | "usual";

/** The most tokens that a document or a video counts as, where the model's context does not bound it. */
export const documentTokens = 1_000_000;

/** The most tokens of text that a page has by its vendor, and what most have. */
const pageText = { most: 3_000, usual: 750 };
/** The pixels of a page as vendors draw it: a letter at 200 dots an inch, and at 120. */
const pageImage: Readonly<Record<Count, ImageSize>> = {
  most: { width: 1_700, height: 2_200 },
  usual: { width: 1_020, height: 1_320 },
};
/** The most that the image of a page counts as, of an unknown model. */
const unknownPage = 16_384;
/** Bytes of text a token, as usual. */
const bytesPerToken = 4;

/** summaryTokens are what a vendor adds to a table: its heads and a summary. */
const summaryTokens = 2_048;

/** bytesPerPage and tokensPerPage are what a file usually has: bytes a page, and tokens a page, with its picture. */
const [bytesPerPage, tokensPerPage] = [50_000, 2_500];
/** Pages of a document that the gateway cannot see. */
const unseenPages = 10;

/** documentTokensOf returns the tokens of a document by any of the rules for the images of its model: the greatest number. */
export function documentTokensOf(size: DocumentSize, rules: readonly ImageRule[], count: Count): number {
  switch (size.kind) {
    case "pdf":
      return pdfTokens(size, rules, count);
    case "text":
      return count === "most" ? size.bytes + summaryTokens : Math.ceil(size.bytes / bytesPerToken);
    case "file":
      return count === "most" ? documentTokens : tokensPerPage * Math.max(1, Math.ceil(size.bytes / bytesPerPage));
    case "elsewhere":
      return count === "most" ? documentTokens : tokensPerPage * unseenPages;
  }
}

/** pdfTokens bounds what a document counts as that the gateway can see; one that it cannot may have more pages than any bound. */
function pdfTokens(
  { pages, textBytes }: Extract<DocumentSize, { kind: "pdf" }>,
  rules: readonly ImageRule[],
  count: Count,
): number {
  const image = Math.max(...rules.map((rule) => pageTokens(rule, count)));
  if (count === "most") {
    return textBytes === undefined
      ? documentTokens
      : Math.min(documentTokens, pages * image + Math.max(pages * pageText.most, textBytes));
  }
  const usualText = pages * pageText.usual;
  const text = textBytes === undefined ? usualText : Math.ceil(textBytes / bytesPerToken);
  return Math.min(documentTokens, pages * image + text);
}

function pageTokens(rule: ImageRule, count: Count): number {
  if (rule === unknownImage) return count === "most" ? unknownPage : imageTokens(usualImage, pageImage.usual);
  // A page is one crop, and what surrounds it; later models count more.
  if (rule.kind === "crops") return count === "most" ? 2 * rule.crop : rule.crop;
  return imageTokens(rule, pageImage[count]);
}

/** DocumentText is how a request holds a document: where its data begins, and what they are. */
interface DocumentText {
  readonly kind: "pdf" | "text" | "file" | "elsewhere";
  /** from is where the data begin in the text. */
  readonly from: number;
  /** The length of the document, in bytes. */
  readonly bytes: number;
}

/** kindOf tells what a document is by the beginning of its text: a data URL, or base64 alone. `text` is undefined where it is elsewhere. */
function kindOf(text: string | Buffer | undefined): DocumentText {
  if (text === undefined) return { kind: "elsewhere", from: 0, bytes: 0 };
  const head = typeof text === "string" ? text.slice(0, 256) : text.toString("latin1", 0, 256);
  if (/^https?:/i.test(head)) return { kind: "elsewhere", from: 0, bytes: 0 };
  const from = head.startsWith("data:") ? head.indexOf(",") + 1 : 0;
  const type = head.slice(0, from);
  const isBase64 = from === 0 || type.endsWith(";base64,");
  const bytes = isBase64 ? Math.ceil(((text.length - from) * 3) / 4) : text.length - from;
  if (/^data:(?:text\/|application\/(?:json|xml)\b)/i.test(type)) return { kind: "text", from, bytes };
  // Only a PDF is decoded: its first bytes say so.
  return { kind: isBase64 && beginsPdf(head.slice(from)) ? "pdf" : "file", from, bytes };
}

function beginsPdf(encoded: string): boolean {
  return Buffer.from(encoded, "base64").includes("%PDF-");
}

/** isPdf reports whether a document is a PDF in base64, by its first bytes. */
export function isPdf(text: string | Buffer | undefined): boolean {
  return kindOf(text).kind === "pdf";
}

/** pdfIn returns the base64 of a PDF in memory of its own; undefined where a document is none. */
export function pdfIn(text: string | Buffer | undefined): Buffer<ArrayBuffer> | undefined {
  const { kind, from } = kindOf(text);
  if (kind !== "pdf" || text === undefined) return undefined;
  const encoded = Buffer.allocUnsafeSlow(text.length - from);
  if (typeof text === "string") encoded.write(text.slice(from), "latin1");
  else text.copy(encoded, 0, from);
  return encoded;
}

/** documentSize returns the size of a document. `pdf` is what was read of a PDF: one that was not, or could not be, is a file. */
export function documentSize(text: string | Buffer | undefined, pdf?: PdfSize): DocumentSize {
  const { kind, bytes } = kindOf(text);
  if (kind === "elsewhere") return { kind };
  if (kind === "pdf") return pdf ? { kind, ...pdf } : { kind: "file", bytes };
  return { kind, bytes };
}
