/**
 * Reads how many pages a PDF file has, and how much text they show at most, without rendering it.
 *
 * Both bound what a vendor may count. What the gateway cannot see (an encrypted file, a filter that it does not know, forms that show
 * one another again and again, glyphs that stand for long texts, more data than it unpacks) is said to be unseen, and never guessed.
 */

import { dataOf, isEncodedImage, type PdfStream, pdfParts } from "./pdf-streams.ts";
import { shownBytes } from "./pdf-text.ts";

export interface PdfSize {
  readonly pages: number;
  /** Bytes of text that all its pages show together, at most; undefined where that cannot be seen. */
  readonly textBytes: number | undefined;
}

/** Unpacking is how many bytes of data may be unpacked yet, of one file or of several together. */
export interface Unpacking {
  left: number;
}

/** The most data of a request's files that is unpacked, in bytes: it takes some ten milliseconds. */
export const maxUnpacked = 4_194_304;

/** More streams and page trees than an honest file has: they would take long to look at. Half the length of a tree, in characters. */
const [maxStreams, maxTrees, maxTree] = [50_000, 2_000, 4_096] as const;

/** pdfSize returns undefined where a file is no PDF, or its pages cannot be counted. What is unpacked is taken from `unpacking`. */
export function pdfSize(file: Buffer, unpacking: Unpacking = { left: maxUnpacked }): PdfSize | undefined {
  if (file.subarray(0, 1024).indexOf("%PDF-") === -1) return undefined;
  const { streams, between } = pdfParts(file);
  const isUnseen = streams.length > maxStreams || /\/Encrypt\b/.test(between);
  const room: Room = { unpacking, isUnseen };
  const isPacked = ({ dictionary }: PdfStream) => /\/Type\s*\/ObjStm\b/.test(dictionary);
  const packed = streams.filter(isPacked).map((stream) => unpacked(stream, room).toString("latin1"));
  const dictionaries = [between, ...packed].join("\n");
  const [pages, repeats] = countPages(dictionaries, room);
  if (pages === 0) return undefined;
  const others = streams.filter((stream) => !isPacked(stream));
  const textBytes = textIn(others, contentsIn(dictionaries), room);
  return { pages, textBytes: room.isUnseen ? undefined : textBytes * repeats };
}

/** Room is how much more may be unpacked, and whether something could not be. */
interface Room {
  readonly unpacking: Unpacking;
  isUnseen: boolean;
}

const nothing = Buffer.alloc(0);

function unpacked(stream: PdfStream, room: Room): Buffer {
  const data = room.isUnseen ? "unseen" : dataOf(stream, room.unpacking.left);
  if (data === "unseen") {
    room.isUnseen = true;
    return nothing;
  }
  room.unpacking.left -= data.length;
  return data;
}

/** countPages counts the page objects, and what page trees say that they have: a tree may name a page repeatedly. */
function countPages(dictionaries: string, room: Room): readonly [pages: number, repeats: number] {
  const objects = dictionaries.match(/\/Type\s*\/Page(?![A-Za-z])/g)?.length ?? 0;
  let counted = 0;
  let trees = 0;
  for (const { index } of dictionaries.matchAll(/\/Type\s*\/Pages\b/g)) {
    if (++trees > maxTrees) break;
    const near = dictionaries.slice(Math.max(0, index - maxTree), index + maxTree);
    const middle = Math.min(index, maxTree);
    const end = near.indexOf(">>", middle);
    const tree = near.slice(Math.max(0, near.lastIndexOf("<<", middle)), end === -1 ? undefined : end);
    counted = Math.max(counted, Number(/\/Count\s+(\d{1,9})\b/.exec(tree)?.[1] ?? 0));
  }
  if (trees > maxTrees) room.isUnseen = true;
  const pages = Math.max(objects, counted);
  return [pages, Math.ceil(pages / Math.max(1, objects))];
}

/** contentsIn returns how often each stream is a page's content, by the number of its object. */
function contentsIn(dictionaries: string): ReadonlyMap<number, number> {
  const times = new Map<number, number>();
  for (const [, named = ""] of dictionaries.matchAll(/\/Contents\s*(\[[^\]/]*\]|\d+\s+\d+\s+R)/g)) {
    // A number is read from its first digit only: from each of them, long ones would take quadratic time.
    for (const [, id] of named.matchAll(/(?<!\d)(\d+)\s+\d+\s+R/g)) {
      times.set(Number(id), (times.get(Number(id)) ?? 0) + 1);
    }
  }
  return times;
}

/** Streams that show no text on a page: pictures, fonts, cross-references, descriptions, attached files. */
const other =
  /\/Subtype\s*\/(?:Image|Type1C|CIDFontType0C|OpenType|XML)\b|\/Length1\b|\/Type\s*\/(?:XRef|Metadata|EmbeddedFile)\b|\/FunctionType\b/;
const isForm = (dictionary: string) => /\/Subtype\s*\/Form\b/.test(dictionary);

/**
 * textIn bounds the text of all streams. A stream that several pages have counts for each. A form counts as the greatest of them for each
 * time that any is drawn beyond once.
 */
function textIn(streams: readonly PdfStream[], contents: ReadonlyMap<number, number>, room: Room): number {
  const forms = { count: 0, text: 0, greatest: 0, drawn: 0 };
  let [text, drawn] = [0, 0];
  for (const stream of streams) {
    if (room.isUnseen) return 0;
    const times = contents.get(stream.id);
    const ofForm = isForm(stream.dictionary);
    if (times === undefined && !ofForm && (isEncodedImage(stream) || other.test(stream.dictionary))) continue;
    const data = unpacked(stream, room);
    if (hasLongGlyphs(data)) room.isUnseen = true;
    const [shown, draws] = [shownBytes(data), drawsIn(data)];
    if (ofForm) {
      forms.count++;
      forms.text += shown;
      forms.greatest = Math.max(forms.greatest, shown);
      forms.drawn += draws;
    } else {
      text += shown * (times ?? 1);
      drawn += draws * (times ?? 1);
    }
  }
  const drawable = streams.filter(({ dictionary }) => /\/Subtype\s*\/(?:Form|Image)\b/.test(dictionary)).length;
  // Forms that draw others more often than there are some may repeat a text without bound.
  if (forms.text > 0 && forms.drawn > drawable) room.isUnseen = true;
  return text + forms.text + forms.greatest * Math.max(0, drawn + forms.drawn - forms.count);
}

function drawsIn(data: Buffer): number {
  return data.toString("latin1").match(/\/[^\s/]+\s+Do\b/g)?.length ?? 0;
}

/** hasLongGlyphs reports whether a font's map has glyphs that stand for more than four characters. */
function hasLongGlyphs(data: Buffer): boolean {
  return data.includes("beginbf") && /<[0-9A-Fa-f\s]{17,}>/.test(data.toString("latin1"));
}
