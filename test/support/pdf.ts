/**
 * Writes small PDF files, as several programs write them: for tests that count their pages and their text.
 *
 *   writePdf(["(Hello) Tj", "(world) Tj"], { isPacked: true })
 */
import { deflateSync } from "node:zlib";

export interface PdfOptions {
  /** Compresses the contents. Default: true. */
  readonly isDeflated?: boolean;
  /** Keeps the dictionaries in a compressed object stream. Default: false. */
  readonly isPacked?: boolean;
  /** Further objects, by their number from 900 on: a dictionary, and the data of a stream. */
  readonly more?: readonly (readonly [id: number, dictionary: string, data: Buffer | string])[];
  /** Further words of the trailer. */
  readonly trailer?: string;
  /** page is what each page says besides. */
  readonly page?: string;
  /** The object that is the content of all pages. Default: each has its own. */
  readonly sharedContent?: number;
}

/** `contents` are the operators of each page. */
export function writePdf(contents: readonly string[], options: PdfOptions = {}): Buffer {
  const { isDeflated = true, isPacked = false, more = [], trailer = "", page = "", sharedContent } = options;
  const streams = contents.map((text, at) => {
    return [100 + at, isDeflated ? "/Filter /FlateDecode" : "", isDeflated ? deflateSync(text) : text] as const;
  });
  const content = (at: number) => sharedContent ?? 100 + at;
  const kids = contents.map((_, at) => `${10 + at} 0 R`).join(" ");
  const dictionaries = [
    [1, "<< /Type /Catalog /Pages 2 0 R >>"],
    [2, `<< /Type /Pages /Kids [${kids}] /Count ${contents.length} >>`],
    ...contents.map((_, at) => [10 + at, `<< /Type /Page /Parent 2 0 R /Contents ${content(at)} 0 R ${page} >>`]),
  ] as const;
  const packed = deflateSync(dictionaries.map(([, text]) => text).join("\n"));
  const own = isPacked
    ? [streamObject(3, `/Type /ObjStm /N ${dictionaries.length} /First 0 /Filter /FlateDecode`, packed)]
    : dictionaries.map(([id, text]) => Buffer.from(`${id} 0 obj\n${text}\nendobj\n`));
  const objects = [...streams, ...more].map(([id, dictionary, data]) => streamObject(id, dictionary, data));
  const end = Buffer.from(`trailer\n<< /Root 1 0 R ${trailer} >>\n%%EOF\n`);
  return Buffer.concat([Buffer.from("%PDF-1.7\n%\xe2\xe3\n", "latin1"), ...own, ...objects, end]);
}

function streamObject(id: number, dictionary: string, data: Buffer | string): Buffer {
  const bytes = Buffer.from(data as string, "latin1");
  const head = `${id} 0 obj\n<< ${dictionary} /Length ${bytes.length} >>\nstream\n`;
  return Buffer.concat([Buffer.from(head), bytes, Buffer.from("\nendstream\nendobj\n")]);
}
