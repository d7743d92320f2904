/** The header of a stand-alone AAC frame (ADTS, ISO/IEC 13818-7): AAC LC, one channel, 24 kHz. */

const size = 7;

export function adtsFrame(packet: Uint8Array): readonly [header: Uint8Array, packet: Uint8Array] {
  const length = size + packet.length;
  const lowComplexity = 1;
  const rate24000 = 6;
  const channels = 1;
  const fullness = 0x7ff; // Variable bit rate.
  const header = Uint8Array.of(
    0xff,
    0xf1, // MPEG-4, no checksum.
    (lowComplexity << 6) | (rate24000 << 2),
    (channels << 6) | (length >> 11),
    (length >> 3) & 0xff,
    ((length & 7) << 5) | (fullness >> 6),
    (fullness & 0x3f) << 2,
  );
  return [header, packet];
}
