/** What the audit log tells besides, as names and values. */

/** Reads the JSON of an object; what is none shows as it is. */
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
