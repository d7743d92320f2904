/**
 * What a caller would have of the cache, by the header `Cache-Control` of its request. Source: RFC 9111, 5.2.1. What is not
 * named here changes nothing.
 */

export interface CacheControl {
  /** Whether an answer that was kept will do. */
  readonly mayRead: boolean;
  /** Whether the answer may be kept. */
  readonly mayKeep: boolean;
  /** How old a kept answer may be, in milliseconds. */
  readonly maxAgeMs: number;
  /** Whether no other answer will do. */
  readonly onlyKept: boolean;
}

const anything: CacheControl = {
  mayRead: true,
  mayKeep: true,
  maxAgeMs: Number.POSITIVE_INFINITY,
  onlyKept: false,
};

export function cacheControlOf(header: string | undefined): CacheControl {
  if (header === undefined) return anything;
  const directives = new Map(header.split(",").map(directiveOf));
  const mayKeep = !directives.has("no-store");
  const maxAge = directives.get("max-age");
  return {
    mayRead: mayKeep && !directives.has("no-cache"),
    mayKeep,
    maxAgeMs: maxAge === undefined ? Number.POSITIVE_INFINITY : millisecondsOf(maxAge),
    onlyKept: directives.has("only-if-cached"),
  };
}

function directiveOf(text: string): [name: string, value: string] {
  const [name = "", ...value] = text.split("=");
  return [name.trim().toLowerCase(), value.join("=").trim()];
}

/** An age that cannot be read is none at all: what was kept is too old for it. */
function millisecondsOf(seconds: string): number {
  const digits = seconds.replace(/^"(.*)"$/, "$1");
  return /^\d{1,12}$/.test(digits) ? Number(digits) * 1000 : 0;
}
