/**
 * multipart/form-data → pairs of texts. A file is refused: no endpoint takes one.
 *
 * Source: RFC 7578. CRLF ends lines, a closing boundary ends the body, names and texts are UTF-8.
 */
import { isUtf8 } from "node:buffer";
import { malformedBody, unsupportedMediaType } from "../../call/refusals.ts";
import type { Steps } from "../../wire/scan/steps.ts";
import type { Pair } from "./form-tree.ts";

const maxHeaderBytes = 16 * 1024;
const accepted = "application/json, and forms without files";

/** multipartPairs yields the text fields in the order of the form. Throws a Refusal. */
export function* multipartPairs(contentType: string, body: Buffer, steps: Steps = { count: 0 }): Generator<Pair> {
  if (body.length === 0) return;
  const boundary = Buffer.from(`\r\n--${boundaryOf(contentType)}`, "latin1");
  // The first boundary may be at the very start, without a line end before it.
  const opening = boundary.subarray(2);
  const isFirst = body.subarray(0, opening.length).equals(opening);
  let at = isFirst ? opening.length : after(body, boundary, 0, steps);
  while (body.toString("latin1", at, at + 2) !== "--") {
    const headersEnd = after(body, blankLine, at, steps);
    if (headersEnd - at > maxHeaderBytes) throw broken();
    const next = after(body, boundary, headersEnd, steps);
    const name = fieldName(textOf(body.subarray(at, headersEnd - blankLine.length)));
    yield [name, textOf(body.subarray(headersEnd, next - boundary.length))];
    at = next;
  }
}

const blankLine = Buffer.from("\r\n\r\n");

/** after returns the end of the next occurrence of these bytes. */
function after(body: Buffer, bytes: Buffer, from: number, steps: Steps): number {
  const at = body.indexOf(bytes, from);
  steps.count += (at === -1 ? body.length : at) - from + bytes.length;
  if (at === -1) throw broken();
  return at + bytes.length;
}

function boundaryOf(contentType: string): string {
  const boundary = /;\s*boundary\s*=\s*(?:"([^"]{1,70})"|([^\s;"]{1,70})\s*(?:;|$))/i.exec(contentType);
  if (!boundary) throw malformedBody("the content-type does not tell the multipart boundary");
  return (boundary[1] ?? boundary[2]) as string;
}

/** isEncoded is a header that says that the text is written otherwise, as in base64. RFC 7578 has none any more. */
const isEncoded = /^content-transfer-encoding\s*:(?!\s*(?:7bit|8bit|binary)\s*$)/i;

/** fieldName reads the name in the headers of a part. The rest of the boundary's line comes before them. */
function fieldName(headers: string): string {
  const [padding, ...lines] = headers.split("\r\n");
  if (padding?.trim() !== "") throw broken();
  const [disposition, another] = lines.filter((line) => /^content-disposition\s*:/i.test(line));
  if (another !== undefined) throw broken();
  if (lines.some((line) => isEncoded.test(line))) throw malformedBody("a form field has a content-transfer-encoding");
  const parameters = new Map<string, string>();
  for (const [, key, quoted, bare] of disposition?.matchAll(/;\s*([^\s;="]+)=(?:"((?:[^"\\]|\\.)*)"|([^\s;"]*))/g) ??
    []) {
    const known = (key as string).toLowerCase();
    if (parameters.has(known)) throw broken();
    parameters.set(known, quoted?.replace(/\\(.)/g, "$1") ?? bare ?? "");
  }
  const name = parameters.get("name");
  if (parameters.has("filename") || parameters.has("filename*")) {
    throw unsupportedMediaType(accepted, "Send text fields only.");
  }
  if (name === undefined || !/^content-disposition\s*:\s*form-data\s*;/i.test(disposition ?? "")) throw broken();
  // Browsers escape quotes and line ends like this.
  return name.replace(/%22|%0D|%0A/gi, decodeURIComponent);
}

function textOf(bytes: Buffer): string {
  if (!isUtf8(bytes)) throw malformedBody("a form field is not UTF-8");
  return bytes.toString();
}

function broken(): Error {
  return malformedBody("the multipart form is cut off or breaks its own rules");
}
