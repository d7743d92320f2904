/** Counts images, sounds and documents as tokens, as their vendor counts them: at most, for a hold. */
import { type ImageRule, imageRuleFor } from "./image-rules.ts";
import { type ImageSize, imageSize } from "./image-size.ts";

/** The longest and the shorter side that images are made to fit, and the side of a square. */
const [longSide, shortSide, squareSide] = [2048, 768, 512];
const mostSquares = 8;
/** The bounds of a crop's side. */
const [leastCrop, mostCrop] = [256, 768];
/** Images within this side are one crop. */
const smallSide = 384;

/** imageTokens returns the most tokens of an image. `size` is undefined where the gateway cannot see it: then it is the vendor's most. */
export function imageTokens(rule: ImageRule, size: ImageSize | undefined, detail?: string): number {
  switch (rule.kind) {
    case "flat":
      return rule.tokens;
    case "squares":
      return rule.base + (detail === "low" ? 0 : rule.square * (size ? squaresIn(size) : mostSquares));
    case "patches": {
      const patches = size ? Math.ceil(size.width / rule.side) * Math.ceil(size.height / rule.side) : rule.most;
      return Math.ceil((Math.min(patches, rule.most) * rule.hundredths) / 100);
    }
    case "crops":
      return rule.crop * (size ? Math.min(rule.most, cropsIn(size)) : rule.most);
  }
}

function squaresIn({ width, height }: ImageSize): number {
  const fitting = Math.min(1, longSide / Math.max(width, height));
  const scale = fitting * Math.min(1, shortSide / (Math.min(width, height) * fitting));
  const along = (side: number) => Math.max(1, Math.ceil((side * scale) / squareSide));
  return Math.min(mostSquares, along(width) * along(height));
}

function cropsIn({ width, height }: ImageSize): number {
  if (width <= smallSide && height <= smallSide) return 1;
  const side = Math.max(leastCrop, Math.min(mostCrop, Math.floor(Math.min(width, height) / 1.5)));
  return Math.ceil(width / side) * Math.ceil(height / side);
}

/** The most tokens that a vendor counts for a second of sound. */
const tokensPerSecond = 32;
/** Bytes of a second of compressed sound: the fewest, 6 kbit/s, at which speech is still understood; and as usual, 128 kbit/s. */
const compressed = { most: 750, usual: 16_000 };
/** Tokens of a second, by most vendors. */
const usualPerSecond = 25;

/** The formats of a WAV whose samples are not compressed: whole numbers, floating-point ones, and either. */
const uncompressed: ReadonlySet<number> = new Set([1, 3, 0xfffe]);

/** soundTokens returns the tokens of a sound, in base64: at most, or as usual. A WAV says how many bytes a second has. */
export function soundTokens(base64: string | Buffer, count: "most" | "usual"): number {
  const bytesPerSecond = wavRate(base64);
  const bytes = Math.ceil((base64.length * 3) / 4);
  const seconds = bytes / (bytesPerSecond >= compressed.most ? bytesPerSecond : compressed[count]);
  return Math.ceil(seconds * (count === "most" ? tokensPerSecond : usualPerSecond));
}

/**
 * wavRate returns the bytes of a second of a WAV, by its samples: what its head says of them besides, no decoder reads. Returns 0 for
 * anything else, and for compressed samples, which decide themselves.
 */
function wavRate(base64: string | Buffer): number {
  const text = typeof base64 === "string" ? base64.slice(0, 60) : base64.toString("latin1", 0, 60);
  const head = Buffer.from(text, "base64");
  const word = (at: number) => head.toString("latin1", at, at + 4);
  if (head.length < 36 || word(0) !== "RIFF" || word(8) !== "WAVE" || word(12) !== "fmt ") return 0;
  const [channels, samplesPerSecond, bits] = [head.readUInt16LE(22), head.readUInt32LE(24), head.readUInt16LE(34)];
  return uncompressed.has(head.readUInt16LE(20)) ? channels * samplesPerSecond * Math.ceil(bits / 8) : 0;
}

/** sizeOfImage returns the size of an image that a request holds: a data URL, or base64 alone. Undefined for any other URL. */
export function sizeOfImage(text: string | Buffer): ImageSize | undefined {
  const head = typeof text === "string" ? text.slice(0, 64) : text.toString("latin1", 0, 64);
  if (!head.startsWith("data:")) return imageSize(text);
  const comma = head.indexOf(",");
  if (comma === -1 || !head.slice(0, comma).endsWith(";base64")) return undefined;
  return imageSize(typeof text === "string" ? text.slice(comma + 1) : text.subarray(comma + 1));
}

/** imageRulesFor returns the rules of a model by the names that it has at its upstreams. */
export function imageRulesFor(names: readonly string[]): readonly ImageRule[] {
  return [...new Set(names.map(imageRuleFor))];
}
