/**
 * The content-codings that are read, of clients' bodies and of upstreams' answers alike.
 *
 * Source: RFC 9110, 8.4.
 */
import type { Transform } from "node:stream";
import {
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  createZstdDecompress,
} from "node:zlib";

/** Node's own decompressor. `bytesWritten` is how much of its input it has made use of. */
export type Decompressor = Transform & { readonly bytesWritten: number };

/** RFC 9659: who reads zstd reads windows of 8 MB, and need read no larger ones, which cost as much memory. */
const zstdParams = { [constants.ZSTD_d_windowLogMax]: 23 };

type Create = (first: Uint8Array, chunkSize: number) => Decompressor;

const decompressors: ReadonlyMap<string, Create> = new Map<string, Create>([
  ["gzip", (_, chunkSize) => createGunzip({ chunkSize })],
  // 8.4.1.2: some send the data without the frame that belongs around it.
  ["deflate", (first, chunkSize) => (isOfZlib(first) ? createInflate({ chunkSize }) : createInflateRaw({ chunkSize }))],
  ["br", (_, chunkSize) => createBrotliDecompress({ chunkSize })],
  ["zstd", (_, chunkSize) => createZstdDecompress({ chunkSize, params: zstdParams })],
]);

/** RFC 1950, 2.2. Where the second byte has not come, the first decides. */
function isOfZlib([first = 0, second]: Uint8Array): boolean {
  return (first & 0x0f) === 8 && (second === undefined || (first * 256 + second) % 31 === 0);
}

/** Older names, which RFC 9110 has readers know. */
const synonyms: ReadonlyMap<string, string> = new Map([["x-gzip", "gzip"]]);

/** Nobody compresses more often, and each time takes memory. */
const mostCodings = 3;

/** How many times its length what was compressed may become, beyond a length that it may always become. */
export const mostGrowth = 200;

export const knownCodings: readonly string[] = [...decompressors.keys()];

/** Returns the codings that a header names, in the order in which they were applied; undefined where not all of them are read. */
export function codingsIn(header: string): readonly string[] | undefined {
  const names = header.split(",").map((name) => name.trim().toLowerCase());
  const codings = names.map((name) => synonyms.get(name) ?? name).filter((name) => name !== "" && name !== "identity");
  const areRead = codings.length <= mostCodings && codings.every((name) => decompressors.has(name));
  return areRead ? codings : undefined;
}

/** Returns what undoes a coding, or undefined for one that is not read. `first` is what has come of its input. */
export function createDecompressor(coding: string, first: Uint8Array, chunkSize: number): Decompressor | undefined {
  return decompressors.get(coding)?.(first, chunkSize);
}
