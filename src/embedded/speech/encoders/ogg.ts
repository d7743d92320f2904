/** Packets → pages of an Ogg stream (RFC 3533), with the header of an Opus stream (RFC 7845). */

/** Samples that a decoder drops at the start, at 48 kHz: the encoder's look-ahead. */
export const preSkip = 312;

export interface OggPages {
  /**
   * Returns a page of these packets. `end` is the number of samples up to its end, at 48 kHz. A page has at most 255
   * segments.
   */
  page(packets: readonly Uint8Array[], end: number, flags?: number): Buffer;
}

export const firstPage = 2;
export const lastPage = 4;

/** The stream's serial number. A file has one stream, and the same request gives the same file. */
const serial = 0x6d67_7774;

export function createOggPages(): OggPages {
  let sequence = 0;
  return {
    page(packets, end, flags = 0) {
      const lacing = packets.flatMap(({ length }) => [...Array(Math.floor(length / 255)).fill(255), length % 255]);
      const head = Buffer.alloc(27 + lacing.length);
      head.write("OggS", 0, "latin1");
      head.writeUInt8(flags, 5);
      head.writeBigInt64LE(BigInt(end), 6);
      head.writeUInt32LE(serial, 14);
      head.writeUInt32LE(sequence++, 18);
      head.writeUInt8(lacing.length, 26);
      head.set(lacing, 27);
      const page = Buffer.concat([head, ...packets]);
      page.writeUInt32LE(checksum(page), 22);
      return page;
    },
  };
}

/** opusHeaders returns the two packets that open an Opus stream of one channel. */
export function opusHeaders(sampleRate: number): readonly [head: Buffer, tags: Buffer] {
  const head = Buffer.alloc(19);
  head.write("OpusHead", 0, "latin1");
  head.writeUInt8(1, 8); // Version.
  head.writeUInt8(1, 9); // Channels.
  head.writeUInt16LE(preSkip, 10);
  head.writeUInt32LE(sampleRate, 12);
  const encoder = "libopus";
  const tags = Buffer.alloc(8 + 4 + encoder.length + 4);
  tags.write("OpusTags", 0, "latin1");
  tags.writeUInt32LE(encoder.length, 8);
  tags.write(encoder, 12, "latin1");
  return [head, tags];
}

const table = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 24;
  for (let bit = 0; bit < 8; bit++) crc = (crc << 1) ^ (crc & 0x8000_0000 ? 0x04c1_1db7 : 0);
  return crc;
});

function checksum(bytes: Uint8Array): number {
  let crc = 0;
  for (const byte of bytes) crc = (crc << 8) ^ (table[(crc >>> 24) ^ byte] as number);
  return crc >>> 0;
}
