/**
 * Tells the generation of a Claude model by its name, and what the vendor refuses from one on. A name without a generation, as an
 * alias, hides it: then the upstream decides, as for other vendors' models.
 */

const named = /claude-([a-z]+)-(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)/i;

/** Generation is the family of a model, such as `opus`, and its generation in hundredths: 407 for 4.7. */
export interface Generation {
  readonly family: string;
  readonly number: number;
}

/** generationOf returns undefined where the name does not tell the generation. */
export function generationOf(model: string): Generation | undefined {
  const [, family, major, minor = "0"] = named.exec(model) ?? [];
  return family === undefined
    ? undefined
    : { family: family.toLowerCase(), number: Number(major) * 100 + Number(minor) };
}

/** refusesSampling reports whether the model is known to refuse temperature, top_p and top_k: Haiku after 4.5, all others after 4.6. */
export function refusesSampling(model: string): boolean {
  const { family, number = 0 } = generationOf(model) ?? {};
  return number > (family === "haiku" ? 405 : 406);
}

/** refusesPrefill reports whether the model is known to refuse a conversation that ends with its own turn: from 4.6. */
export function refusesPrefill(model: string): boolean {
  const { number = 0 } = generationOf(model) ?? {};
  return number >= 406;
}
