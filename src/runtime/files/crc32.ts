/** CRC-32 by zlib, which is loaded for the first sum: loading it takes 4 ms of each command of the line, and few of them need a sum. */
import type { crc32 as Crc32 } from "node:zlib";

let loaded: typeof Crc32 | undefined;

/** crc32 returns the CRC-32 of the data, as a whole number. `before` is that of the data before them, for sums in pieces. */
export function crc32(data: string | Buffer, before = 0): number {
  loaded ??= process.getBuiltinModule("node:zlib").crc32;
  return loaded(data, before);
}
