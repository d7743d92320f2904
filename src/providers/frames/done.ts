/** The end mark of a stream of OpenAI's dialect, which some upstreams of Anthropic's send, too. */
export const done = Buffer.from("[DONE]");

/** The longest data that is compared, in bytes: the mark with the white space or quotation marks that may surround it. */
const longestDone = 15;

/** isDone reports whether a frame's data are the end mark. */
export function isDone(data: Buffer): boolean {
  return data.length <= longestDone && /^\s*"?\[DONE\]"?\s*$/.test(data.toString());
}
