/** Reads the media type of an image from how its base64 begins. */

/** The beginnings of the images that Claude reads. */
const beginnings: readonly (readonly [RegExp, string])[] = [
  [/^iVBORw0KGgo/, "image/png"],
  [/^\/9j\//, "image/jpeg"],
  [/^R0lGOD/, "image/gif"],
  [/^UklGR.{6}XRUJQ/, "image/webp"],
];

/** pictureType returns the media type of an image in base64, or of the first characters of one; undefined for anything else. */
export function pictureType(base64: string | Buffer): string | undefined {
  const head = typeof base64 === "string" ? base64.slice(0, 16) : base64.toString("latin1", 0, 16);
  return beginnings.find(([beginning]) => beginning.test(head))?.[1];
}
