/**
 * Reads the width and the height of a PNG, JPEG, GIF or WebP image from its header, in base64, without decoding the image. Only the
 * bytes that are looked at are decoded.
 */

export interface ImageSize {
  readonly width: number;
  readonly height: number;
}

/** Segments of a JPEG that are skipped on the way to its size, as of colours and previews. */
const maxSegments = 200;

/** imageSize returns undefined where it is none of these formats, or broken off. `base64` is its text, or the ASCII bytes of that. */
export function imageSize(base64: string | Buffer): ImageSize | undefined {
  const head = bytesAt(base64, 0, 32);
  const size = ofPng(head) ?? ofGif(head) ?? ofWebp(head) ?? ofJpeg(base64, head);
  return size && size.width > 0 && size.height > 0 ? size : undefined;
}

/** bytesAt decodes some bytes of the image. Three bytes are four characters. */
function bytesAt(base64: string | Buffer, from: number, length: number): Buffer {
  const begin = Math.floor(from / 3) * 4;
  const end = Math.ceil((from + length) / 3) * 4;
  const text = typeof base64 === "string" ? base64.slice(begin, end) : base64.toString("latin1", begin, end);
  return Buffer.from(text, "base64").subarray(from - Math.floor(from / 3) * 3);
}

function ofPng(head: Buffer): ImageSize | undefined {
  if (head.length < 24 || head.readUInt32BE(0) !== 0x89504e47 || head.toString("latin1", 12, 16) !== "IHDR")
    return undefined;
  return { width: head.readUInt32BE(16), height: head.readUInt32BE(20) };
}

function ofGif(head: Buffer): ImageSize | undefined {
  if (head.length < 10 || head.toString("latin1", 0, 4) !== "GIF8") return undefined;
  return { width: head.readUInt16LE(6), height: head.readUInt16LE(8) };
}

function ofWebp(head: Buffer): ImageSize | undefined {
  if (head.length < 30 || head.toString("latin1", 0, 4) !== "RIFF" || head.toString("latin1", 8, 12) !== "WEBP")
    return undefined;
  switch (head.toString("latin1", 12, 16)) {
    case "VP8X":
      return { width: head.readUIntLE(24, 3) + 1, height: head.readUIntLE(27, 3) + 1 };
    case "VP8L": {
      const bits = head.readUInt32LE(21);
      return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 };
    }
    case "VP8 ":
      return { width: head.readUInt16LE(26) & 0x3fff, height: head.readUInt16LE(28) & 0x3fff };
    default:
      return undefined;
  }
}

/** A frame's header is the first segment of a JPEG that has its size. Each segment says how long it is. */
function ofJpeg(base64: string | Buffer, head: Buffer): ImageSize | undefined {
  if (head.length < 4 || head[0] !== 0xff || head[1] !== 0xd8) return undefined;
  let at = 2;
  for (let segments = 0; segments < maxSegments; segments++) {
    const segment = bytesAt(base64, at, 10);
    if (segment.length < 9 || segment[0] !== 0xff) return undefined;
    const marker = segment[1] as number;
    // Fill bytes before a marker.
    if (marker === 0xff) at += 1;
    else if (isFrame(marker)) return { height: segment.readUInt16BE(5), width: segment.readUInt16BE(7) };
    else at += 2 + segment.readUInt16BE(2);
  }
  return undefined;
}

/** Start-of-frame markers, among which three others lie. */
function isFrame(marker: number): boolean {
  return marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;
}
