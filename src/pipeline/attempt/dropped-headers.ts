/** The header that names what was dropped from a request on the way to its upstream. */
import type { AnswerHeaders } from "../../call/call.ts";

/** The longest value of the header, in characters: some proxies refuse larger header blocks. */
const longestHeader = 2048;

/** `further` is the same header of the upstream's answer, where that is another gateway. */
export function droppedHeaders(dropped: readonly string[], further = ""): AnswerHeaders {
  const inner = further.split(",").map((path) => path.trim());
  // A longer list would not fit even if each path had one letter.
  const paths = new Set([...dropped.slice(0, longestHeader), ...inner].filter((path) => path !== ""));
  if (paths.size === 0) return {};
  // A path holds the caller's own member names, which may be any text.
  const value = [...paths].map((path) => path.replace(/[^\x21-\x2b\x2d-\x7e]/g, "?")).join(", ");
  return { "x-gateway-dropped": value.length > longestHeader ? `${value.slice(0, longestHeader)}...` : value };
}
