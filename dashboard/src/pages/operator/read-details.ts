/** Parses the details of an audit event into names and values. */

/** readDetails parses a JSON object; anything else is shown unchanged. */
export function readDetails(details: string): (readonly [name: string, value: string])[] {
  if (!details) return [];
  try {
    const read: unknown = JSON.parse(details);
    if (typeof read !== "object" || read === null) return [["", details]];
    return Object.entries(read).map(([name, value]) => [name, writtenOut(value)]);
  } catch {
    return [["", details]];
  }
}

/** writtenOut writes a list of words with commas, and all else that is no text as JSON. */
function writtenOut(value: unknown): string {
  if (typeof value === "string") return value;
  const isWords = Array.isArray(value) && value.length > 0 && value.every((one) => typeof one === "string");
  return isWords ? value.join(", ") : JSON.stringify(value);
}
