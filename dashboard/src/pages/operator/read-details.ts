/** Parses the details of an audit event into names and values. */

/** readDetails parses a JSON object; anything else is shown unchanged. */
export function readDetails(details: string): (readonly [name: string, value: string])[] {
  if (!details) return [];
  try {
    const read: unknown = JSON.parse(details);
    if (typeof read !== "object" || read === null) return [["", details]];
    return Object.entries(read).map(([name, value]) => [
      name,
      typeof value === "string" ? value : JSON.stringify(value),
    ]);
  } catch {
    return [["", details]];
  }
}
