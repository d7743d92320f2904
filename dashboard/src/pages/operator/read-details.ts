/** Parses the details of an audit event into names and values. */

/** Members is an object among the details, such as a budget. */
export type Members = Readonly<Record<string, unknown>>;

/** readDetails parses a JSON object, whose objects `told` and whose lists `list` write out; anything else is shown unchanged. */
export function readDetails(
  details: string,
  told: (members: Members) => string,
  list: (parts: readonly string[]) => string,
): (readonly [name: string, value: string])[] {
  if (!details) return [];
  try {
    const read: unknown = JSON.parse(details);
    if (!isMembers(read)) return [["", details]];
    return Object.entries(read).map(([name, value]) => [name, writtenOut(value, told, list)]);
  } catch {
    return [["", details]];
  }
}

/** writtenOut writes lists as `list` does, objects as `told` does, and all else that is no text as JSON. */
function writtenOut(
  value: unknown,
  told: (members: Members) => string,
  list: (parts: readonly string[]) => string,
): string {
  if (typeof value === "string") return value;
  if (Array.isArray(value) && value.length > 0) return list(value.map((one) => writtenOut(one, told, list)));
  return isMembers(value) ? told(value) : JSON.stringify(value);
}

function isMembers(value: unknown): value is Members {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
