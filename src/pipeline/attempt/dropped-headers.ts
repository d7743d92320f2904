/** The header that names what was dropped from a request on the way to its upstream. */
import type { AnswerHeaders } from "../../call/call.ts";

/** The longest value of the header, in characters: some proxies refuse larger header blocks. */
const longestHeader = 2048;

/**
 * droppedHeaders returns the header that names what was dropped of a request. `further` are the paths that the upstream has dropped, where
 * that is another gateway, and those that its dialect has.
 */
export function droppedHeaders(dropped: readonly string[], further: readonly string[] = []): AnswerHeaders {
  // A longer list would not fit even if each path had one letter.
  const paths = new Set([...dropped.slice(0, longestHeader), ...further].filter((path) => path !== ""));
  if (paths.size === 0) return {};
  // A path holds the caller's own member names, which may be any text.
  const value = [...paths].map((path) => path.replace(/[^\x21-\x2b\x2d-\x7e]/g, "?")).join(", ");
  return { "x-gateway-dropped": value.length > longestHeader ? `${value.slice(0, longestHeader)}...` : value };
}
