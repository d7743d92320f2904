/**
 * The format of a back-up: a database of SQLite with all tables of the gateway, and two more. `backup_header` has one row that says of
 * when it is, and of which version; `backup_journal` has the lines of the journal that are not posted in it.
 *
 * Two numbers of the file's head that SQLite leaves to programs make damage known. The application id marks a back-up and its format;
 * the user version is the CRC-32 of all other bytes, and the head has the file's length. A file that is cut or has changed by a byte is
 * refused, and any tool for SQLite reads one.
 */
import { closeSync, fstatSync, openSync, readSync, writeSync } from "node:fs";
import { crc32 } from "../../../../runtime/files/crc32.ts";

/** BackupHeader is the row of `backup_header`. */
export interface BackupHeader {
  /** The moment that it is of, in milliseconds since 1970: nothing in it is younger. */
  readonly created_at: number;
  /** The version of the gateway that wrote it. */
  readonly version: string;
  /** journal_lines is how many lines of the journal it has. */
  readonly journal_lines: number;
  /** The number in the head of the gateway's own file, which the checksum has replaced. */
  readonly user_version: number;
}

/** applicationId is "mgb" and the number of the format. */
export const applicationId = 0x6d676201;
/** The application id of every format, without its number. */
const anyFormat = 0x6d676200;

export const createTables = `
  CREATE TABLE backup_header (created_at INTEGER NOT NULL, version TEXT NOT NULL, journal_lines INTEGER NOT NULL,
    user_version INTEGER NOT NULL);
  CREATE TABLE backup_journal (file TEXT NOT NULL, line INTEGER NOT NULL, text TEXT NOT NULL, PRIMARY KEY (file, line))
    WITHOUT ROWID`;
export const dropTables = "DROP TABLE backup_header; DROP TABLE backup_journal";

/** HeadFault is what the first look at a file found. */
export type HeadFault = "foreign" | "no back-up" | "newer" | "cut" | "damaged";

const magic = "SQLite format 3\0";
/** The positions of numbers in the first bytes of a database. */
const head = { length: 100, pageSize: 16, pages: 28, userVersion: 60, applicationId: 68 } as const;
const pieceBytes = 1024 * 1024;

/** faultOfBytes looks at the bytes of a file, and returns what is wrong with them; undefined where it is a whole back-up. */
export function faultOfBytes(path: string): HeadFault | undefined {
  const fd = openSync(path, "r");
  try {
    const bytes = Buffer.alloc(head.length);
    if (readSync(fd, bytes, 0, head.length, 0) < head.length || bytes.toString("latin1", 0, magic.length) !== magic)
      return "foreign";
    const id = bytes.readUInt32BE(head.applicationId);
    if (id !== applicationId) return (id & ~0xff) === anyFormat && id > applicationId ? "newer" : "no back-up";
    const pageSize = bytes.readUInt16BE(head.pageSize);
    const length = (pageSize === 1 ? 65_536 : pageSize) * bytes.readUInt32BE(head.pages);
    const { size } = fstatSync(fd);
    if (size < length) return "cut";
    return size === length && checksumOf(fd) === bytes.readUInt32BE(head.userVersion) ? undefined : "damaged";
  } finally {
    closeSync(fd);
  }
}

/** writeChecksum writes the checksum of a file that no connection has open. */
export function writeChecksum(path: string): void {
  const fd = openSync(path, "r+");
  try {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32BE(checksumOf(fd));
    writeSync(fd, bytes, 0, bytes.length, head.userVersion);
  } finally {
    closeSync(fd);
  }
}

/** checksumOf returns the CRC-32 of all bytes, with 0 in the place of itself. */
function checksumOf(fd: number): number {
  const piece = Buffer.alloc(pieceBytes);
  let checksum = 0;
  for (let at = 0; ; ) {
    const count = readSync(fd, piece, 0, pieceBytes, at);
    if (count === 0) return checksum;
    if (at === 0) piece.fill(0, head.userVersion, head.userVersion + 4);
    checksum = crc32(piece.subarray(0, count), checksum);
    at += count;
  }
}
