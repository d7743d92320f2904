/** Finds the streams of a PDF file, and the text that lies between them: its dictionaries. Nothing is parsed as a whole. */
import { inflateSync } from "node:zlib";

/** PdfStream is one stream of a file, still encoded. */
export interface PdfStream {
  /** The number of its object; 0 where the file does not say it. */
  readonly id: number;
  /** Its dictionary, as it stands in the file. */
  readonly dictionary: string;
  readonly encoded: Buffer;
}

export interface PdfParts {
  readonly streams: readonly PdfStream[];
  /** All that lies between the streams. */
  readonly between: string;
}

/** Streams beyond so many are not looked for. */
const maxStreams = 50_001;

/** maxDictionary is how far before its stream a dictionary begins at most. */
const maxDictionary = 8_192;

/** `file` is the whole file, decoded. */
export function pdfParts(file: Buffer): PdfParts {
  const streams: PdfStream[] = [];
  const between: string[] = [];
  let from = 0;
  for (
    let at = file.indexOf("stream");
    at !== -1 && streams.length < maxStreams;
    at = file.indexOf("stream", from + 1)
  ) {
    const begin = dataAt(file, at);
    if (begin === undefined) {
      between.push(file.toString("latin1", from, at + 6));
      from = at + 6;
      continue;
    }
    const [id, dictionary] = headOf(file.toString("latin1", Math.max(from, at - maxDictionary), at));
    const end = endOf(file, begin, dictionary);
    between.push(file.toString("latin1", from, at));
    streams.push({ id, dictionary, encoded: file.subarray(begin, end) });
    from = end;
  }
  between.push(file.toString("latin1", from));
  return { streams, between: between.join("\n") };
}

/** dataAt returns where the data begins after the word `stream`; undefined where that is no stream's beginning, as in `endstream`. */
function dataAt(file: Buffer, at: number): number | undefined {
  if (file.toString("latin1", Math.max(0, at - 3), at) === "end") return undefined;
  const after = at + "stream".length;
  if (file[after] === 0x0a) return after + 1;
  if (file[after] !== 0x0d) return undefined;
  return file[after + 1] === 0x0a ? after + 2 : after + 1;
}

function headOf(before: string): readonly [id: number, dictionary: string] {
  const begin = before.lastIndexOf(" obj");
  if (begin === -1) return [0, before];
  const id = /(\d+)\s+\d+$/.exec(before.slice(Math.max(0, begin - 24), begin))?.[1];
  return [Number(id ?? 0), before.slice(begin + " obj".length)];
}

/** A stream ends where its length says, if its end mark follows there, and else at the next end mark. */
function endOf(file: Buffer, begin: number, dictionary: string): number {
  const length = Number(/\/Length\s+(\d+)(?!\s+\d+\s+R)\b/.exec(dictionary)?.[1] ?? Number.NaN);
  const said = begin + length;
  if (
    said <= file.length &&
    file
      .toString("latin1", said, said + 12)
      .trimStart()
      .startsWith("endstream")
  )
    return said;
  const mark = file.indexOf("endstream", begin);
  return mark === -1 ? file.length : mark;
}

/** The filters of images, whose streams have no text. */
const imageFilter = /\/(?:DCTDecode|JPXDecode|CCITTFaxDecode|JBIG2Decode|DCT|CCF)\b/;

/** isEncodedImage reports whether a stream is an image in a format of its own. */
export function isEncodedImage({ dictionary }: PdfStream): boolean {
  return imageFilter.test(dictionary);
}

/**
 * dataOf returns the data of a stream. It is "unseen" where its filter is none that the gateway has, where the data is damaged, or longer
 * than `most` bytes.
 */
export function dataOf({ dictionary, encoded }: PdfStream, most: number): Buffer | "unseen" {
  // A list ends before the next begins: a dictionary full of beginnings would take quadratic time.
  const filters = /\/Filter\s*(\[[^\][]*\]|\/\w+)/.exec(dictionary)?.[1]?.match(/\/\w+/g) ?? [];
  if (filters.length === 0 && !/\/Filter\b/.test(dictionary)) return encoded.length > most ? "unseen" : encoded;
  if (filters.length !== 1 || !/^\/(?:FlateDecode|Fl)$/.test(filters[0] as string)) return "unseen";
  try {
    return inflateSync(encoded, { maxOutputLength: most });
  } catch {
    return "unseen";
  }
}
