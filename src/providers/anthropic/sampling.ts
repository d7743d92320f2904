/**
 * Tells which Claude models take sampling settings: Haiku up to 4.5, all others up to 4.6. Later ones refuse them. A name
 * without a generation, as an alias, hides it: then the upstream decides, as for other vendors' models.
 */

const generation = /claude-([a-z]+)-(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)/i;

/** Reports whether the model refuses temperature, top_p and top_k. */
export function refusesSampling(model: string): boolean {
  const [, family, major, minor = "0"] = generation.exec(model) ?? [];
  if (family === undefined) return false;
  const last = family.toLowerCase() === "haiku" ? 405 : 406;
  return Number(major) * 100 + Number(minor) > last;
}
