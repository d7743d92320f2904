/** The word that ends a stream of OpenAI's dialect, and with some upstreams one of Anthropic's. */
export const done = Buffer.from("[DONE]");

/** Of the word with the space that may stand around it, in bytes: what is longer is not looked at. */
const longestDone = 15;

/** Whether a frame's data are the word. */
export function isDone(data: Buffer): boolean {
  return data.length <= longestDone && data.toString().trim() === "[DONE]";
}
