/**
 * The path of a request, and what it is read as.
 *
 * People put base addresses together with a slash too many at either end, and give clients that add `/v1` one that has it: both
 * are read as they were meant. Percent-encoded slashes are part of a name and stay.
 */

/** Returns the path as it came, without the query. A proxy's request may name the whole address. */
export function pathOf(url: string): string {
  if (!url.startsWith("/")) return URL.canParse(url) ? new URL(url).pathname : url;
  const query = url.indexOf("?");
  return query === -1 ? url : url.slice(0, query);
}

const slashes = /\/{2,}/g;
const versions = /^\/v1(?:\/v1)+(?=\/)/;

/** Returns the path with slashes merged, none at its end, and one `/v1` at its beginning instead of several. */
export function plainPath(path: string): string {
  const merged = path.includes("//") ? path.replace(slashes, "/") : path;
  const ended = merged.length > 1 && merged.endsWith("/") ? merged.slice(0, -1) : merged;
  return ended.startsWith("/v1/v1/") ? ended.replace(versions, "/v1") : ended;
}
