/**
 * finishWord returns a finish reason as it is compared: in lower case, and without the name of the filter that Gemini puts behind a colon,
 * as in `content_filter: SAFETY`.
 */
export function finishWord(reason: string): string {
  return reason.toLowerCase().replace(/:.*$/s, "");
}
