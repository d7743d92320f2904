/** JSON read as plainly as can be: by the engine's own parser, and once more for what that passes over. */
import type { JsonValue } from "@bufbuild/protobuf";

const token = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]|[^\s{}[\],:"]+/g;

/** Returns undefined for what is no UTF-8, no JSON, or has a member twice or one that is called `__proto__`. */
export function readNaively(bytes: Uint8Array): JsonValue | undefined {
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    const value = JSON.parse(text) as JsonValue;
    return hasStrangeNames(text) ? undefined : value;
  } catch {
    return undefined;
  }
}

/** The text is JSON. */
function hasStrangeNames(text: string): boolean {
  /** The names so far of each object that is open; a list has none. */
  const open: (Set<string> | undefined)[] = [];
  let before = "";
  for (const [sign] of text.matchAll(token)) {
    if (sign === "{") open.push(new Set());
    else if (sign === "[") open.push(undefined);
    else if (sign === "}" || sign === "]") open.pop();
    const names = open.at(-1);
    if (names && sign.startsWith('"') && (before === "{" || before === ",")) {
      const name = JSON.parse(sign) as string;
      if (names.has(name) || name === "__proto__") return true;
      names.add(name);
    }
    before = sign;
  }
  return false;
}
