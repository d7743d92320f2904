/**
 * Lists how vendors count an image as tokens, as data: by the model's name at its vendor. The numbers are those of the vendors' own pages
 * on images and prices, in November 2026. Where a page leaves a choice open, the higher count stands here: holds are made of it.
 */

/** ImageRule counts the tokens of an image. */
export type ImageRule =
  /** Squares of 512 pixels, once the image fits 2048 by 2048 and its shorter side 768; `base` comes with each image. */
  | { readonly kind: "squares"; readonly base: number; readonly square: number }
  /** Squares of so many pixels a side, at most so many, times a factor in hundredths. */
  | { readonly kind: "patches"; readonly side: number; readonly most: number; readonly hundredths: number }
  /** Crops whose size follows from the shorter side, of so many tokens each. */
  | { readonly kind: "crops"; readonly crop: number; readonly most: number }
  /** The same for each image. */
  | { readonly kind: "flat"; readonly tokens: number };

/** unknownImage is what an image of an unknown model counts as at most, whatever its size: more than any vendor counts. */
export const unknownImage: ImageRule = { kind: "flat", tokens: 65_536 };

/** usualImage is what an image of an unknown model usually counts as: patches of 28 pixels, as of many open models. */
export const usualImage: ImageRule = { kind: "patches", side: 28, most: 4_096, hundredths: 100 };

const squares = (base: number, square: number): ImageRule => ({ kind: "squares", base, square });
const patches = (side: number, most: number, hundredths: number): ImageRule => {
  return { kind: "patches", side, most, hundredths };
};

/** The first rule whose pattern is in the name of a model counts. */
const rules: readonly (readonly [name: RegExp, rule: ImageRule])[] = [
  [/gpt-4o-mini/, squares(2833, 5667)],
  [/gpt-4\.1-mini|gpt-5-mini/, patches(32, 1536, 162)],
  [/gpt-4\.1-nano|gpt-5-nano/, patches(32, 1536, 246)],
  [/o4-mini/, patches(32, 1536, 172)],
  [/computer-use-preview/, squares(65, 129)],
  [/gpt-4o|gpt-4\.[15]|gpt-4-turbo|gpt-4-vision/, squares(85, 170)],
  [/(?:^|[/:])o[13](?:-|$)/, squares(75, 150)],
  [/gpt-5(?:\.1)?(?:-|$)/, squares(70, 140)],
  // Up to 10,000 patches by `detail: original`, times the factor of the smallest models.
  [/gpt-(?:5\.[2-9]|[6-9])/, patches(32, 10_000, 246)],
  // Pixels by 750; of the newest, patches of 28 pixels.
  [/claude/, patches(27, 4_784, 100)],
  [/gemini-[12][.-]/, { kind: "crops", crop: 258, most: 32 }],
  // By the highest media resolution.
  [/gemini/, { kind: "flat", tokens: 2_240 }],
];

/** imageRuleFor returns the rule for a model by its name at its vendor. */
export function imageRuleFor(model: string): ImageRule {
  const name = model.toLowerCase();
  return rules.find(([pattern]) => pattern.test(name))?.[1] ?? unknownImage;
}
