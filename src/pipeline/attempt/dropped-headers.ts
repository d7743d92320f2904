/** How an answer tells of what was left out on the way to its upstream. */
import type { AnswerHeaders } from "../../call/call.ts";

/** The longest value of the header, in characters: some proxies refuse longer heads. */
const longestHeader = 2048;

/** Names what was left out on the way to the upstream, and then what the upstream, another gateway, left out itself. */
export function droppedHeaders(dropped: readonly string[], further = ""): AnswerHeaders {
  const inner = further.split(",").map((path) => path.trim());
  // Of more there is no room for a letter.
  const paths = new Set([...dropped.slice(0, longestHeader), ...inner].filter((path) => path !== ""));
  if (paths.size === 0) return {};
  // A path holds the caller's own keys, which may be any text.
  const value = [...paths].map((path) => path.replace(/[^\x21-\x2b\x2d-\x7e]/g, "?")).join(", ");
  return { "x-gateway-dropped": value.length > longestHeader ? `${value.slice(0, longestHeader)}...` : value };
}
