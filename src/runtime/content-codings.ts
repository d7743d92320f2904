/**
 * The content-codings that the gateway decodes, in clients' requests and in upstreams' answers alike.
 *
 * Source: RFC 9110, 8.4.
 */
import type { Transform } from "node:stream";

/** zlib is loaded for the first body that is compressed: commands, and most gateways, read none. */
const zlib = () => process.getBuiltinModule("node:zlib");

/** Decompressor is a decompressor of Node's. `bytesWritten` is how much of its input it has consumed. */
export type Decompressor = Transform & { readonly bytesWritten: number };

/** RFC 9659: a decoder supports windows of 8 MB, and may refuse larger ones, which would cost as much memory. In its logarithm. */
const maxZstdWindow = 23;

type Create = (first: Uint8Array, chunkSize: number) => Decompressor;

const decompressors: ReadonlyMap<string, Create> = new Map<string, Create>([
  ["gzip", (_, chunkSize) => zlib().createGunzip({ chunkSize })],
  // 8.4.1.2: some senders omit the zlib wrapper.
  [
    "deflate",
    (first, chunkSize) =>
      hasZlibHeader(first) ? zlib().createInflate({ chunkSize }) : zlib().createInflateRaw({ chunkSize }),
  ],
  ["br", (_, chunkSize) => zlib().createBrotliDecompress({ chunkSize })],
  [
    "zstd",
    (_, chunkSize) => {
      const { constants, createZstdDecompress } = zlib();
      return createZstdDecompress({ chunkSize, params: { [constants.ZSTD_d_windowLogMax]: maxZstdWindow } });
    },
  ],
]);

/** hasZlibHeader reports whether data has a zlib header (RFC 1950, 2.2). Where the second byte has not arrived, the first decides. */
function hasZlibHeader([first = 0, second]: Uint8Array): boolean {
  return (first & 0x0f) === 8 && (second === undefined || (first * 256 + second) % 31 === 0);
}

/** Older names, which RFC 9110 requires recipients to accept. */
const synonyms: ReadonlyMap<string, string> = new Map([["x-gzip", "gzip"]]);

/** More codings than this are refused: each takes memory, and no real client applies so many. */
const maxCodings = 3;

/** mostGrowth is how many times its length a compressed body may become. Bodies below a fixed length are exempt. */
export const mostGrowth = 200;

export const knownCodings: readonly string[] = [...decompressors.keys()];

/** codingsIn returns the codings that a header names, in the order in which they were applied; undefined if any of them is unknown. */
export function codingsIn(header: string): readonly string[] | undefined {
  const names = header.split(",").map((name) => name.trim().toLowerCase());
  const codings = names.map((name) => synonyms.get(name) ?? name).filter((name) => name !== "" && name !== "identity");
  const areRead = codings.length <= maxCodings && codings.every((name) => decompressors.has(name));
  return areRead ? codings : undefined;
}

/** createDecompressor returns a decompressor for a coding; undefined for an unknown one. `first` is the beginning of its input. */
export function createDecompressor(coding: string, first: Uint8Array, chunkSize: number): Decompressor | undefined {
  return decompressors.get(coding)?.(first, chunkSize);
}
