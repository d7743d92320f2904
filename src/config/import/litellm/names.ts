/** namesIn returns the names in a text, which spaces and line breaks divide. */
export function namesIn(text: string): ReadonlySet<string> {
  return new Set(text.trim().split(/\s+/));
}
