/**
 * The header `Cache-Control` of a request. Source: RFC 9111, 5.2.1. Directives that are not read here have no effect.
 */

export interface CacheControl {
  /** mayRead is whether the caller accepts a cached answer. */
  readonly mayRead: boolean;
  /** mayKeep is whether the answer may be cached. */
  readonly mayKeep: boolean;
  /** The greatest age of a cached answer, in milliseconds. */
  readonly maxAgeMs: number;
  /** onlyCached is whether the caller accepts only a cached answer. */
  readonly onlyCached: boolean;
}

const anything: CacheControl = {
  mayRead: true,
  mayKeep: true,
  maxAgeMs: Number.POSITIVE_INFINITY,
  onlyCached: false,
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
    onlyCached: directives.has("only-if-cached"),
  };
}

function directiveOf(text: string): [name: string, value: string] {
  const [name = "", ...value] = text.split("=");
  return [name.trim().toLowerCase(), value.join("=").trim()];
}

/** An age that cannot be parsed counts as 0, so that no cached answer is fresh enough. */
function millisecondsOf(seconds: string): number {
  const digits = seconds.replace(/^"(.*)"$/, "$1");
  return /^\d{1,12}$/.test(digits) ? Number(digits) * 1000 : 0;
}
