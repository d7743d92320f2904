/**
 * The path of a request, as sent and normalised.
 *
 * People compose base URLs with a slash too many, and give clients that add `/v1` a base URL that has it already. Both are
 * understood. Percent-encoded slashes are part of a name and stay.
 */

/** pathOf returns the path as it was sent, without the query. A proxy may send the whole URL. */
export function pathOf(url: string): string {
  if (!url.startsWith("/")) return URL.canParse(url) ? new URL(url).pathname : url;
  const query = url.indexOf("?");
  return query === -1 ? url : url.slice(0, query);
}

const slashes = /\/{2,}/g;
const versions = /^\/v1(?:\/v1)+(?=\/)/;

/** Normalises a path: merges slashes, drops one at the end, and merges several `/v1` at the beginning. */
export function plainPath(path: string): string {
  const merged = path.includes("//") ? path.replace(slashes, "/") : path;
  const trimmed = merged.length > 1 && merged.endsWith("/") ? merged.slice(0, -1) : merged;
  return trimmed.startsWith("/v1/v1/") ? trimmed.replace(versions, "/v1") : trimmed;
}
